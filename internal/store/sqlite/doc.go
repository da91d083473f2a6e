// Package sqlite stores heads, inboxes, journals, definitions and the wake-up queue in one SQLite
// file. It implements the store and the queue of package engine, and the store and the catalog of
// package frontend.
//
// It enforces the conditions of the protocol and nothing more. It plans no steps, sends nothing
// over a network, starts no sweep, and validates what callers store only when it reads it
// back.
//
// # Writes
//
// One goroutine per process writes. It takes the waiting operations, runs them in one transaction,
// each in its own savepoint, commits, and then answers all of them. Independent operations thus
// share one flush to disk, a refused operation undoes only itself, and no caller gets an answer
// before its write is durable. Several processes may open one file; SQLite's lock orders their
// transactions.
//
// # Times
//
// Times in the file are milliseconds since the Unix epoch. The times of a head come with the
// requests; the queue and the expiry of idempotency keys use the clock given to [Open].
package sqlite
