// Command api is the Lambda function that serves the HTTP API, except for decisions. With
// DORMOUSE_STREAM=1 it is the function behind the URL that streams events.
package main

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdaapi"
)

func main() { lambdaapi.Main(dormouse.Program{}) }
