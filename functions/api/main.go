// Command api is the function that answers callers of the HTTP API, in all but decisions. With
// DORMOUSE_STREAM=1 it is the function behind the URL that streams events: the same program, since
// it needs the same parts.
package main

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdaapi"
)

func main() { lambdaapi.Main(dormouse.Program{}) }
