// Command refund-desk is the dormouse command with the tools of the refund desk.
package main

import (
	"github.com/dormouse-dev/dormouse/command"
	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
)

func main() { command.Main(refunddesk.Program()) }
