// Package torture checks that a running Dormouse keeps its guarantees while its server is killed.
// Callers start runs, decide, send messages and cancel, and record every acknowledgment. Meanwhile
// this package or another program kills the server. At the end, the package checks that the API
// shows everything that was acknowledged.
//
// It uses only the HTTP API and, if given one, a ledger in which tools record their external
// effects. It never reads the store. If this package's own process is killed with SIGKILL, its
// server keeps running.
package torture
