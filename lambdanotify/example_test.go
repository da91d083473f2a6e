package lambdanotify_test

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdanotify"
)

var program dormouse.Program // the same program as in package lambdastep

// The main function of the Lambda function notify.
func ExampleMain() {
	lambdanotify.Main(program)
}
