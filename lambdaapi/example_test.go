package lambdaapi_test

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdaapi"
)

var program dormouse.Program // the same as the one that package lambdastep is given

// The main function of the function api.
func ExampleMain() {
	lambdaapi.Main(program)
}

// The main function of the function decision.
func ExampleDecisions() {
	lambdaapi.Decisions(program)
}
