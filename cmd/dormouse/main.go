// Command dormouse is the program a person uses: it runs agents on this machine, and it talks to a
// server that runs them.
package main

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/command"
)

// version is set by the linker. Where it is not, the version of the module counts.
var version string

func main() { command.Main(dormouse.Program{Name: "dormouse", Version: version}) }
