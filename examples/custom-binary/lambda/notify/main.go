// Command notify is the Lambda function that delivers notices, with the parts desk.
package main

import (
	"time"

	"github.com/dormouse-dev/dormouse/examples/custom-binary/partsdesk"
	"github.com/dormouse-dev/dormouse/lambdanotify"
)

func main() {
	lambdanotify.Main(partsdesk.Program(partsdesk.Shop{Now: time.Now}))
}
