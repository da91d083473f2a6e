// Command intake is the Lambda function that starts the runs that messages of the intake queue
// request.
package main

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdaintake"
)

func main() { lambdaintake.Main(dormouse.Program{}) }
