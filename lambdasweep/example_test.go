package lambdasweep_test

import "github.com/dormouse-dev/dormouse/lambdasweep"

// The main function of the Lambda function sweep.
func ExampleMain() {
	lambdasweep.Main()
}
