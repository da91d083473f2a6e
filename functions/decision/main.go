// Command decision is the function through which people and programs see what waits for an answer,
// and answer it: by calls of the HTTP API that an authorizer lets in, and by signed links, which
// need none.
package main

import (
	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/lambdaapi"
)

func main() { lambdaapi.Decisions(dormouse.Program{}) }
