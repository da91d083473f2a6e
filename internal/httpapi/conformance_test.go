package httpapi_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/httpapi"
	"github.com/dormouse-dev/dormouse/internal/httpapi/httpapitest"
)

// contract is the OpenAPI document. Whatever a test of this package says to its server, and is told by it, is held against it.
var contract = func() *httpapitest.Contract {
	c, err := httpapitest.Read(httpapi.OpenAPI())
	if err != nil {
		panic(err)
	}
	return c
}()

// unprovoked are documented answers that no test of this package gets, each with the reason. An entry with an empty call is for all
// calls.
var unprovoked = map[httpapitest.Answer]string{}

// TestMain looks, after all tests of the package have passed, for answers that the document has and no test has seen: each is in
// unprovoked, or the document promises something that may not be so.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && everything() {
		code = unseen()
	}
	os.Exit(code)
}

// everything says whether this is a run of all tests.
func everything() bool {
	for _, name := range []string{"test.run", "test.fuzz", "test.list", "test.bench"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return true
}

func unseen() (code int) {
	seen, excused := 0, 0
	for _, a := range contract.Answers() {
		_, known := unprovoked[a]
		if !known {
			_, known = unprovoked[httpapitest.Answer{Status: a.Status, What: a.What}]
		}
		switch {
		case contract.Seen(a):
			seen++
		case known:
			excused++
		default:
			fmt.Println("documented, and seen in no test:", a)
			code = 1
		}
	}
	fmt.Printf("documented answers: %d seen, %d not, with a reason in conformance_test.go\n", seen, excused)
	return code
}
