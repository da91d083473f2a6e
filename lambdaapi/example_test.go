package lambdaapi_test

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdaapi"
)

var program dormouse.Program // the same program as in package lambdastep

// The main function of the Lambda function api.
func ExampleMain() {
	lambdaapi.Main(program)
}
