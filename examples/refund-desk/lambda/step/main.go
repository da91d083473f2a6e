// Command step is the Lambda function that works on runs, with the tools of the refund desk.
package main

import (
	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/lambdastep"
)

func main() { lambdastep.Main(refunddesk.Program()) }
