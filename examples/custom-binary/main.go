// Command custom-binary is the dormouse command with the parts desk: the server and all commands.
package main

import (
	"time"

	"github.com/dormouse-dev/dormouse/command"
	"github.com/dormouse-dev/dormouse/examples/custom-binary/partsdesk"
)

func main() {
	command.Main(partsdesk.Program(partsdesk.Shop{Now: time.Now}))
}
