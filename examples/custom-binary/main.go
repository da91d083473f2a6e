// Command custom-binary is dormouse with the parts desk in it: the server, and all verbs of whoever
// uses it.
package main

import (
	"time"

	"github.com/dormouse-dev/dormouse/command"
	"github.com/dormouse-dev/dormouse/examples/custom-binary/partsdesk"
)

func main() {
	command.Main(partsdesk.Program(partsdesk.Shop{Now: time.Now}))
}
