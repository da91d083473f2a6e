// Command api is the Lambda function that serves the HTTP API, with the parts desk.
package main

import (
	"time"

	"github.com/dormouse-dev/dormouse/examples/custom-binary/partsdesk"
	"github.com/dormouse-dev/dormouse/lambdaapi"
)

func main() {
	lambdaapi.Main(partsdesk.Program(partsdesk.Shop{Now: time.Now}))
}
