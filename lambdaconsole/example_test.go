package lambdaconsole_test

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdaconsole"
)

var program dormouse.Program // the same program as in package lambdastep

// The main function of the Lambda function console.
func ExampleMain() {
	lambdaconsole.Main(program)
}
