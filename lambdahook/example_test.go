package lambdahook_test

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdahook"
)

var program dormouse.Program // the same program as in package lambdastep

// The main function of the Lambda function hook.
func ExampleMain() {
	lambdahook.Main(program)
}
