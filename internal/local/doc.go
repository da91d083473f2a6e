// Package local is the embedded runtime: it puts SQLite, a worker pool, the sweep and the HTTP API
// together in one process, with the real clock. It chooses adapters and contains no rules.
// Several processes may share one data directory.
package local
