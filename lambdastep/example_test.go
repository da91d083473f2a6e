package lambdastep_test

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdastep"
)

var program dormouse.Program // the same as the one that package lambdaapi is given

// The main function of the function step.
func ExampleMain() {
	lambdastep.Main(program)
}
