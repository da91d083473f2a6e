// Command decision is the Lambda function that accepts decisions, with the parts desk.
package main

import (
	"time"

	"github.com/dormouse-dev/dormouse/examples/custom-binary/partsdesk"
	"github.com/dormouse-dev/dormouse/lambdadecision"
)

func main() {
	lambdadecision.Main(partsdesk.Program(partsdesk.Shop{Now: time.Now}))
}
