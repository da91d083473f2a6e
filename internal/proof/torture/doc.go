// Package torture holds a running Dormouse to its word. Callers start runs, decide, send messages
// and cancel, and write down whatever was acknowledged; meanwhile the server is killed, by this
// package or by somebody else. When that is over, everything that was acknowledged is looked for in
// what the API shows.
//
// It sees what callers see: the HTTP API and, if it is told of a ledger, the marks that tools left
// outside of the system. It never looks into the store, and it does not know how a server keeps its
// word.
package torture
