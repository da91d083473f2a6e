package awsapi_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A call that waits for its run is answered before its invocation ends, and says how to go on. The
// run here never gets a worker.
func TestACallInAProtocolIsAnsweredBeforeItsInvocationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, withJWT)
		for path, test := range map[string]struct{ body, want string }{
			"/mcp": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"refund-desk","arguments":{"input":"Refund order A-17"}}}`, "get_run"},
			"/a2a/refund-desk": {`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Refund order A-17"}]}}}`,
				"TASK_STATE_SUBMITTED"},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			e := read[asked](t, "start-jwt.json")
			e.RawPath, e.Body = path, test.body
			e.Headers["a2a-version"] = "1.0"
			delete(e.Headers, "idempotency-key")
			got, err := d.runs(ctx, e)
			if err != nil || got.StatusCode != 200 || ctx.Err() != nil || !strings.Contains(got.Body, test.want) {
				t.Errorf("%s: %v, %v, %d %s", path, err, ctx.Err(), got.StatusCode, got.Body)
			}
		}
	})
}
