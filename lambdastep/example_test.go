package lambdastep_test

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdastep"
)

var program dormouse.Program // the same program as in package lambdaapi

// The main function of the Lambda function step.
func ExampleMain() {
	lambdastep.Main(program)
}
