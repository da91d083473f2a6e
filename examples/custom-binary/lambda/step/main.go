// Command step is the Lambda function that works on runs, with the parts desk.
package main

import (
	"time"

	"github.com/dormouse-dev/dormouse/examples/custom-binary/partsdesk"
	"github.com/dormouse-dev/dormouse/lambdastep"
)

func main() {
	lambdastep.Main(partsdesk.Program(partsdesk.Shop{Now: time.Now}))
}
