// Command console is the Lambda function that serves the pages that people work in.
package main

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdaconsole"
)

func main() { lambdaconsole.Main(dormouse.Program{}) }
