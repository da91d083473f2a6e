package iocount

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// The types of SQLite's callbacks.
type (
	openFile  = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
	writeFile = func(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32
	syncFile  = func(tls *libc.TLS, file uintptr, flags int32) int32
	connected = func(tls *libc.TLS, db, message, api uintptr) int32
	traced    = func(tls *libc.TLS, event uint32, context, statement, text uintptr) int32
)

// Our callbacks. SQLite keeps pointers to them, so they are variables that nothing changes.
var (
	open      openFile  = openCounted
	writeLog  writeFile = writeCounted(&logBytes)
	writeMain writeFile = writeCounted(&fileBytes)
	flush     syncFile  = syncCounted
	connect   connected = traceStatements
	begin     traced    = countStatement
)

var systemOpen uintptr // set by install

// methods are the functions of an open file: the system's, except that ours write and flush. SQLite
// sees the part before write.
type methods struct {
	sqlite3.Tsqlite3_io_methods
	write, sync uintptr // the system's
}

// openCounted opens a file as the system does, and replaces its functions.
func openCounted(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	code := function[openFile](systemOpen)(tls, vfs, name, file, flags, out)
	if of := at[sqlite3.Tsqlite3_file](file); code == sqlite3.SQLITE_OK && of.FpMethods != 0 {
		of.FpMethods = counting(tls, of.FpMethods, flags&sqlite3.SQLITE_OPEN_WAL != 0)
	}
	return code
}

type kind struct {
	system uintptr
	log    bool
}

// A system has a few sets of functions, and every file has one of them.
var made = struct {
	sync.Mutex
	of map[kind]uintptr
}{of: map[kind]uintptr{}}

// counting returns the functions that take the place of the system's.
func counting(tls *libc.TLS, system uintptr, log bool) uintptr {
	made.Lock()
	defer made.Unlock()
	k := kind{system, log}
	if made.of[k] == 0 {
		m := methods{Tsqlite3_io_methods: *at[sqlite3.Tsqlite3_io_methods](system)}
		m.write, m.sync = m.FxWrite, m.FxSync
		m.FxWrite, m.FxSync = pointer(&writeMain), pointer(&flush)
		if log {
			m.FxWrite = pointer(&writeLog)
		}
		made.of[k] = allocated(tls, m)
	}
	return made.of[k]
}

func of(file uintptr) *methods { return at[methods](at[sqlite3.Tsqlite3_file](file).FpMethods) }

func writeCounted(bytes *atomic.Int64) writeFile {
	return func(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
		bytes.Add(int64(n))
		return function[writeFile](of(file).write)(tls, file, buffer, n, offset)
	}
}

func syncCounted(tls *libc.TLS, file uintptr, flags int32) int32 {
	syncs.Add(1)
	return function[syncFile](of(file).sync)(tls, file, flags)
}

// traceStatements is called with every new connection.
func traceStatements(tls *libc.TLS, db, _, _ uintptr) int32 {
	return sqlite3.Xsqlite3_trace_v2(tls, db, sqlite3.SQLITE_TRACE_STMT, pointer(&begin), 0)
}

func countStatement(*libc.TLS, uint32, uintptr, uintptr, uintptr) int32 {
	statements.Add(1)
	return 0
}

// at is the value at an address of SQLite's memory, which Go neither moves nor frees.
func at[T any](address uintptr) *T { return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&address))) }

// allocated copies a value to memory that is never freed.
func allocated[T any](tls *libc.TLS, value T) uintptr {
	address := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(value)))
	*at[T](address) = value
	return address
}

// function is what SQLite has as a pointer to a function, and pointer the reverse. In the
// translated code such a pointer is what a variable of the function's type contains.
func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

func pointer[F any](f *F) uintptr { return *(*uintptr)(unsafe.Pointer(f)) }
