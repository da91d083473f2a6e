// Command api is the function that answers callers of the HTTP API, with the parts desk in it.
package main

import (
	"time"

	"github.com/dormouse-dev/dormouse/examples/custom-binary/partsdesk"
	"github.com/dormouse-dev/dormouse/lambdaapi"
)

func main() {
	lambdaapi.Main(partsdesk.Program(partsdesk.Shop{Now: time.Now}))
}
