package lambdadecision_test

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdadecision"
)

var program dormouse.Program // the same program as in package lambdastep

// The main function of the Lambda function decision.
func ExampleMain() {
	lambdadecision.Main(program)
}
