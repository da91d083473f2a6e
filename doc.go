// Package dormouse lets Go programs add tools, hooks, effects and memories to the runtime.
//
// A [Program] is plain data, and nothing in this package runs it. Package command turns it into the
// complete dormouse command for a laptop or a server; packages lambdastep and lambdaapi turn it
// into the Lambda functions of an AWS stack. The agent files decide the rest: each one sets the
// instructions, the tools and the approvals of an agent, and names the tools and hooks of the
// program that the agent uses. Package client calls the HTTP API of a running server.
//
// # What may happen twice
//
// Runs survive crashes. A process may crash after your code has acted and before the runtime has
// committed the result. The runtime then calls your code again:
//
//   - A tool runs again with the same [Call.Key] and with [Call.Again] set. A tool with
//     [AtMostOnce] doesn't run again; a person is asked for the outcome instead.
//   - A hook is called again unless its result was committed. Its result is applied exactly once;
//     its external side effects must be idempotent.
//   - The body of an effect may run twice for one call, and a memory may be committed twice for one
//     run.
//
// What tools and hooks write to the [State] of the run is committed together with their result, or
// not at all.
//
// # Compatibility
//
// This is v0. Import package dormouse and packages client, command, lambdastep, lambdaapi,
// lambdadecision, lambdaconsole, lambdanotify, lambdahook, lambdaintake and lambdasweep; everything
// under internal is private. Until v1 a minor version may change exported names, and the changelog
// lists each change; a patch version doesn't.
// A later version continues the runs that an earlier one stored. Structs may gain fields, so write
// composite literals with field names. Interfaces of this package may gain methods, so implement
// them only in tests.
package dormouse
