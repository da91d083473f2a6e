// Command step is the function that works on the runs of a stack, with the tools of the refund
// desk.
package main

import (
	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/lambdastep"
)

func main() { lambdastep.Main(refunddesk.Program()) }
