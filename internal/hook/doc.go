// Package hook holds the hooks and memories of a program by name, and has a few of its own: the
// effects that a definition names, and a memory in a file. It does not call them: when, and what
// their wishes come to, is decided elsewhere.
package hook
