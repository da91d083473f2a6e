// Command step is the Lambda function that performs one step for each wake-up of a run.
package main

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdastep"
)

func main() { lambdastep.Main(dormouse.Program{}) }
