// Command step is the function that works: it takes the wake-ups of the stack's runs and does one
// step for each, and it takes the messages of the intake queue and starts what they ask for.
package main

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdastep"
)

func main() { lambdastep.Main(dormouse.Program{}) }
