// Command notify is the Lambda function that delivers notices, with the tools of the refund desk.
package main

import (
	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/lambdanotify"
)

func main() { lambdanotify.Main(refunddesk.Program()) }
