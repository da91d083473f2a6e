// Package enginetest holds the suites that every store and every queue behind the engine must pass,
// and the clock and the randomness they, and other tests, run on. It is imported by tests alone.
//
// The suites check what callers can see: answers and what is read afterwards. How a store keeps it
// and how fast is tested beside each store; what survives kill -9 of many processes is what
// [Torture] looks for. Subtests are named by the behaviour they check; where it closes a known hole
// or is one of the cases, its id (H1, C191) stands first.
package enginetest
