// Package enginetest holds the suites that every store and every queue behind the engine must pass, and the clock and the
// randomness they, and other tests, run on. It is imported by tests alone.
//
// The suites check what callers can see: answers and what is read afterwards. How a store keeps it, how fast, and what
// survives a crash is tested beside each store. Subtests are named by the behaviour they check; where it closes a known hole or
// is one of the cases, its id (H1, C191) stands first.
package enginetest
