// Package enginetest has the conformance suite for every store behind the engine, and
// the clock and randomness for tests. Only tests import it.
//
// The suites check what callers can see: responses, and what is read afterwards. Each store tests
// its storage format and speed itself; [Torture] checks what survives kill -9 of many processes. A
// subtest is named by the behavior it checks, after the id of the hole or case that it covers (H1,
// C191), if there is one.
package enginetest
