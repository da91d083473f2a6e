// Command intake is the Lambda function that starts the runs of the intake queue, with the refund
// desk.
package main

import (
	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/lambdaintake"
)

func main() { lambdaintake.Main(refunddesk.Program()) }
