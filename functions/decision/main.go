// Command decision is the Lambda function that lists suspensions and accepts decisions: through the
// HTTP API for authenticated callers, and through signed approval links.
package main

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdadecision"
)

func main() { lambdadecision.Main(dormouse.Program{}) }
