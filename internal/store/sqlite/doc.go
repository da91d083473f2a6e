// Package sqlite keeps heads, inboxes, journals, definitions and the queue of wake-ups in one
// SQLite file. It implements the store and the queue of package engine, and the store and the
// catalog of package frontend.
//
// It enforces the conditions of the protocol and nothing more: it plans no step, sends no message
// over a network, sweeps nothing on its own and does not judge what callers store, beyond reading
// it back.
//
// # Writing
//
// One goroutine per process writes. It takes the operations that wait, runs all of them in one
// transaction, each in a savepoint of its own, commits, and then answers all of them. So
// independent operations share one flush to the disk, a refused operation takes nothing with it,
// and nobody is told of something that is not yet durable. Several processes may open one file;
// SQLite's lock puts their transactions in order.
//
// # Times
//
// Times in the file are milliseconds since the Unix epoch. A head's times come with the requests;
// the queue and the expiry of idempotency keys use the clock given to [Open].
package sqlite
