// Command decision is the Lambda function that accepts decisions, with the tools of the refund
// desk.
package main

import (
	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/lambdadecision"
)

func main() { lambdadecision.Main(refunddesk.Program()) }
