// Package txfile keeps one SQLite file open: it groups writes into transactions, reads beside them,
// and says what is wrong with the file. It knows no tables but its own, migrations and mark; the
// caller brings the schema.
//
// One goroutine per process writes. It takes the waiting operations, runs them in one transaction,
// each in its own savepoint, commits, and then answers all of them. Independent operations thus
// share one flush to disk, a refused operation undoes only itself, and no caller gets an answer
// before its write is durable. Several processes may open one file; SQLite's lock orders their
// transactions.
package txfile
