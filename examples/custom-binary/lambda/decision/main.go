// Command decision is the function that takes what people and programs decide, with the parts desk
// in it.
package main

import (
	"time"

	"github.com/dormouse-dev/dormouse/examples/custom-binary/partsdesk"
	"github.com/dormouse-dev/dormouse/lambdaapi"
)

func main() {
	lambdaapi.Decisions(partsdesk.Program(partsdesk.Shop{Now: time.Now}))
}
