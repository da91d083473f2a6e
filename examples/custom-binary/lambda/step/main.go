// Command step is the function that works on the runs of a stack, with the parts desk in it.
package main

import (
	"time"

	"github.com/dormouse-dev/dormouse/examples/custom-binary/partsdesk"
	"github.com/dormouse-dev/dormouse/lambdastep"
)

func main() {
	lambdastep.Main(partsdesk.Program(partsdesk.Shop{Now: time.Now}))
}
