// Command hook is the Lambda function that receives webhooks and buttons of Slack apps.
package main

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdahook"
)

func main() { lambdahook.Main(dormouse.Program{}) }
