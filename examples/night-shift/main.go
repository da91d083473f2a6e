// Command night-shift is the dormouse command with the tools and the hook of the night shift.
package main

import (
	"github.com/dormouse-dev/dormouse/command"
	"github.com/dormouse-dev/dormouse/examples/night-shift/nightshift"
)

func main() { command.Main(nightshift.Program()) }
