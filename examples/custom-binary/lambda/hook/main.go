// Command hook is the Lambda function that receives webhooks, with the parts desk.
package main

import (
	"time"

	"github.com/dormouse-dev/dormouse/examples/custom-binary/partsdesk"
	"github.com/dormouse-dev/dormouse/lambdahook"
)

func main() {
	lambdahook.Main(partsdesk.Program(partsdesk.Shop{Now: time.Now}))
}
