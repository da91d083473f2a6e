// Package sqlite stores heads, inboxes, journals, definitions and the wake-up queue in one SQLite
// file. It implements the store and the queue of package engine, and the store and the catalog of
// package frontend.
//
// It enforces the conditions of the protocol and nothing more. It plans no steps, sends nothing
// over a network, starts no sweep, and validates what callers store only when it reads it
// back.
//
// Package txfile runs its transactions: it groups the waiting writes into one commit, and watches
// over the health of the file. Package tables has the schema and translates rows, and package
// examine looks for damage.
//
// # Times
//
// Times in the file are milliseconds since the Unix epoch. The times of a head come with the
// requests; the queue and the expiry of idempotency keys use the clock given to [Open].
package sqlite
