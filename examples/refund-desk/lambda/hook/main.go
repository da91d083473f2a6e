// Command hook is the Lambda function that receives webhooks, with the tools of the refund desk.
package main

import (
	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/lambdahook"
)

func main() { lambdahook.Main(refunddesk.Program()) }
