package lambdaintake_test

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdaintake"
)

var program dormouse.Program // the same program as in package lambdastep

// The main function of the Lambda function intake.
func ExampleMain() {
	lambdaintake.Main(program)
}
