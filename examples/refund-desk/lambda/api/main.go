// Command api is the Lambda function that serves the HTTP API, with the tools of the refund desk.
package main

import (
	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/lambdaapi"
)

func main() { lambdaapi.Main(refunddesk.Program()) }
