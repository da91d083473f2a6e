// Package dormouse is what a program of your own brings to the runtime: tools, hooks, effects and
// memories, written in Go.
//
// A [Program] is plain data. Nothing in this package runs it: package command makes it the whole
// dormouse command on a laptop or a server, and packages lambdastep and lambdaapi make it the
// functions of a stack on AWS. What an agent is told, which tools it has and who is asked stands in
// the agent's file, which names the tools and hooks of the program.
//
// # What may happen twice
//
// Runs survive crashes, so a process may end between what your code did and the commit that says
// so. Then your code is called again:
//
//   - A tool runs again with the same [Call.Key], and [Call.Again] set; with [AtMostOnce] it does
//     not, and a person is asked what happened.
//   - A hook is called again unless what it wanted was committed. What it wants counts once; what
//     it does elsewhere may happen twice.
//   - The body of an effect may run twice for one call. A memory may be given one run twice.
//
// What tools and hooks write to the [State] of the run is committed with their result, or not at
// all.
//
// # What is promised
//
// This is v0. The exported names of this package and of packages command, lambdastep, lambdaapi and
// lambdasweep are all that is meant to be imported; everything under internal is not. Until v1 a
// minor version may change them, and its changelog says how; a patch version does not. Runs that
// were stored by one version go on under a later one. Structs may gain fields, so write them with
// field names. Interfaces of this package may gain methods, so do not implement them outside of
// tests.
package dormouse
