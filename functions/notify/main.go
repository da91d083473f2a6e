// Command notify is the Lambda function that delivers notices of what happens in runs: to webhooks,
// and to EventBridge and SNS if the stack names a bus or a topic.
package main

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdanotify"
)

func main() { lambdanotify.Main(dormouse.Program{}) }
