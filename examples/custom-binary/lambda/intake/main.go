// Command intake is the Lambda function that starts the runs of the intake queue, with the parts
// desk.
package main

import (
	"time"

	"github.com/dormouse-dev/dormouse/examples/custom-binary/partsdesk"
	"github.com/dormouse-dev/dormouse/lambdaintake"
)

func main() {
	lambdaintake.Main(partsdesk.Program(partsdesk.Shop{Now: time.Now}))
}
