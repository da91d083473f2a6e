// Package hook holds the hooks and memories of a program by name. It also implements some: the
// effects that a definition names, and a memory in a file. It does not call them; the engine
// decides when to, and what their results do.
package hook
