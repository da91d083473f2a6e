// Command decision is the function that takes decisions, with the tools of the refund desk.
package main

import (
	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/lambdaapi"
)

func main() { lambdaapi.Decisions(refunddesk.Program()) }
