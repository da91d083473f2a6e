package httpapi_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/apidoc"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/httpapitest"
)

// contract is the OpenAPI document. Whatever a test of this package says to its server, and is told
// by it, is held against it.
var contract = func() *httpapitest.Contract {
	c, err := httpapitest.Read(apidoc.Text())
	if err != nil {
		panic(err)
	}
	return c
}()

// unprovoked are documented answers that no test of this package gets, each with the reason.
var unprovoked = withSignIn(map[httpapitest.Answer]string{
	{Call: "health", Status: 500, What: "internal"}:                "nothing behind it can fail; the document says what any fault would look like",
	{Call: "openapi", Status: 500, What: "internal"}:               "nothing behind it can fail; the document says what any fault would look like",
	{Call: "readMe", Status: 403, What: "role_required"}:           "any role suffices, and every token has one",
	{Call: "withdrawDecision", Status: 409, What: "run_done"}:      "only where a run is cancelled while a decision is held; the simulator does that",
	{Call: "resumeRun", Status: 409, What: "not_suspended"}:        "only where the run goes on between the look at it and the write",
	{Call: "answerLink", Status: 403, What: "not_an_approver"}:     "the approvers of a question never change, and no link is made for a recipient who may only deny",
	{Call: "answerSuspension", Status: 409, What: "not_suspended"}: "only where the call was abandoned; TestDecisionsOnWhatDoesNotWait sees it of decide",
	{Call: "receiveHook", Status: 409, What: "not_suspended"}:      "only where the call was abandoned; TestDecisionsOnWhatDoesNotWait sees it of decide",
	{Call: "receivePush", Status: 400, What: "malformed_body"}:     "TestAPushThatEndsEarlyIsRefused gets it without a connection",
	{Call: "resumeRun", Status: 409, What: "stale_suspension"}:     "only where the run is interrupted anew between the look at it and the write",
})

// withSignIn adds what the two steps of a sign-in answer because of their link: both open it as
// showLink does, whose tests see all of it.
func withSignIn(all map[httpapitest.Answer]string) map[httpapitest.Answer]string {
	const opened = "the link is opened as by showLink"
	all[httpapitest.Answer{Call: "beginSignIn", Status: 404, What: "call_not_found"}] = opened
	all[httpapitest.Answer{Call: "beginSignIn", Status: 410, What: "link_expired"}] = opened
	for _, what := range []string{"call_not_found", "link_not_found", "not_found", "run_not_found"} {
		all[httpapitest.Answer{Call: "finishSignIn", Status: 404, What: what}] = opened
	}
	all[httpapitest.Answer{Call: "finishSignIn", Status: 410, What: "link_expired"}] = opened
	all[httpapitest.Answer{Call: "finishSignIn", Status: 500, What: "internal"}] = opened
	for _, what := range []string{"storage_damaged", "storage_denied", "storage_failing", "storage_gone", "unavailable", "unreadable"} {
		all[httpapitest.Answer{Call: "finishSignIn", Status: 503, What: what}] = opened
	}
	return all
}

// TestMain looks, after all tests of the package have passed, for answers that the document has and
// no test has seen: each is in unprovoked, or the document promises something that may not be so.
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
		why := unprovoked[a]
		switch {
		case contract.Seen(a):
			seen++
		case why != "":
			excused++
			fmt.Printf("documented, and seen in no test: %s: %s\n", a, why)
		default:
			fmt.Printf("documented, and seen in no test: %s\n", a)
			code = 1
		}
	}
	fmt.Printf("documented answers: %d seen, %d not seen with a reason\n", seen, excused)
	return code
}
