//go:build !linux

// Command peers compares Dormouse with other runtimes for durable agents. It reads what they cost
// from /proc, so it needs Linux.
package main

import "log"

func main() { log.Fatal("peers: this comparison needs Linux") }
