package awsapi_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/quota"
)

const startBody = `{"agent":"refund-desk","input":"Refund order A-17"}`

// instance is another process of the functions, whose tenants have these rates.
func (d *deployed) instance(rates bounds.Rates) *deployed {
	d.t.Helper()
	one, o := *d, d.options
	o.Rates, o.Buckets = rates, quota.NewBuckets(dynamodb.NewFromConfig(d.double.Config(), dynamo.Retries()), "stack")
	one.serve(o)
	return &one
}

// limited has a rate of each kind: five at once, and one every two seconds.
var limited = bounds.Rates{pace.Starts: pace.PerSecond(0.5, 0), pace.Decisions: pace.PerSecond(0.5, 0), pace.Streams: pace.PerSecond(0.5, 0)}

func TestInstancesShareTheRateOfATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, withJWT)
		fleet := []*deployed{d.instance(limited), d.instance(limited), d.instance(limited)}
		for n := range 5 {
			one := fleet[n%3]
			decoded[wire.Run](t, one.ask(one.runs, "POST", "/v1/runs", startBody), 202)
		}
		tricks := []func(*asked){header("x-forwarded-for", "203.0.113.9"), header("x-tenant", "zoo"), header("custom:tenant", "zoo"), header("forwarded", "for=203.0.113.9"), header("authorization", "Bearer other"), header("idempotency-key", "k")}
		for n, trick := range tricks {
			one := fleet[n%3]
			refused := one.ask(one.runs, "POST", "/v1/runs", startBody, trick)
			if p := decoded[wire.Problem](t, refused, 429); p.Code != "rate_limited" || refused.Headers["Retry-After"] != "2" {
				t.Errorf("%s, %v", p.Code, refused.Headers)
			}
		}
		for path, code := range map[string]string{"/mcp": "rate", "/a2a/refund-desk": "rate"} {
			body := map[string]string{"/mcp": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"refund-desk","arguments":{"input":"Refund order A-17"}}}`,
				"/a2a/refund-desk": `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Refund order A-17"}]}}}`}[path]
			got := fleet[0].ask(fleet[0].runs, "POST", path, body, header("accept", "application/json, text/event-stream"), header("mcp-protocol-version", "2025-06-18"), header("a2a-version", "1.0"))
			if !strings.Contains(got.Body, code) || strings.Contains(got.Body, "run_") {
				t.Errorf("%s: %d %s", path, got.StatusCode, got.Body)
			}
		}
		decoded[wire.Run](t, fleet[0].ask(fleet[0].runs, "POST", "/v1/runs", startBody, ofTenant("zoo")), 202)
		time.Sleep(2 * time.Second)
		admitted := 0
		for _, one := range fleet {
			if got := one.ask(one.runs, "POST", "/v1/runs", startBody); got.StatusCode == 202 {
				admitted++
			}
		}
		if admitted != 1 {
			t.Errorf("%d starts after the time of one", admitted)
		}
	})
}

// TestAFloodOfATenantDelaysNoOther: while one tenant sends as much as it can, the requests of
// another each cost what they cost alone.
func TestAFloodOfATenantDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, withJWT)
		fleet, flooded, calls := []*deployed{d.instance(limited), d.instance(limited)}, 0, 0
		d.double.Fail(func(c awsdouble.Call) awsdouble.Fault {
			if c.Key == "RL#starts#acme|#" {
				flooded++
				return awsdouble.Fault{}
			}
			calls++
			return awsdouble.Fault{}
		})
		alone := 0
		for n := range 20 {
			one := fleet[n%2]
			for range 50 {
				one.ask(one.runs, "POST", "/v1/runs", startBody)
			}
			calls = 0
			decoded[wire.Run](t, one.ask(one.runs, "POST", "/v1/runs", startBody, ofTenant("zoo")), 202)
			if alone == 0 {
				alone = calls
			}
			if calls > alone+2 { // the last tokens of a bucket are taken by two writes
				t.Errorf("start %d of another tenant sent %d requests to the table, the first %d", n, calls, alone)
			}
			time.Sleep(2 * time.Second)
		}
		if flooded > 100 {
			t.Errorf("1,000 starts of a flood in 40 seconds cost %d writes of two processes", flooded)
		}
	})
}

// asking is a run that waits for an approval, and the suspension.
func (d *deployed) asking() (run wire.Run, suspension string) {
	d.t.Helper()
	run = decoded[wire.Run](d.t, d.ask(d.runs, "POST", "/v1/runs", startBody), 202)
	d.work()
	run = decoded[wire.Run](d.t, d.ask(d.runs, "GET", "/v1/runs/"+run.ID, ""), 200)
	if len(run.Pending) != 1 {
		d.t.Fatalf("%+v", run)
	}
	return run, run.Pending[0].Suspension.ID
}

// TestNoDecisionIsLostToALimiter: decisions are accepted while their bucket does not answer; starts
// and streams are not, and none of them has had an effect.
func TestNoDecisionIsLostToALimiter(t *testing.T) {
	for name, fault := range map[string]awsdouble.Fault{"throttled": awsdouble.Throttle(), "denied": awsdouble.Deny(), "broken": awsdouble.InternalError(), "silent": awsdouble.LoseReply()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := deploy(t, withJWT)
				one := d.instance(limited)
				var waiting []string
				for range 10 {
					_, suspension := d.asking()
					waiting = append(waiting, suspension)
				}
				d.double.Fail(func(c awsdouble.Call) awsdouble.Fault {
					if strings.HasPrefix(c.Key, quota.PrefixBucket) {
						return fault
					}
					return awsdouble.Fault{}
				})
				before := time.Now()
				for _, suspension := range waiting {
					decoded[wire.DecisionAnswer](t, one.ask(one.decisions, "POST", "/v1/suspensions/"+suspension, `{"action":"resume"}`), 202)
				}
				if took := time.Since(before); took > 2*time.Second {
					t.Errorf("ten decisions took %v", took)
				}
				refused := one.ask(one.runs, "POST", "/v1/runs", startBody)
				if p := decoded[wire.Problem](t, refused, 503); refused.Headers["Retry-After"] == "" || strings.Contains(refused.Body, "bucket") {
					t.Errorf("%s, %v", p.Code, refused.Headers)
				}
				d.double.Fail(nil)
				time.Sleep(time.Second)
				decoded[wire.Run](t, one.ask(one.runs, "POST", "/v1/runs", startBody), 202)
				if n := strings.Count(d.log.String(), "decisions are not limited"); n == 0 {
					t.Error("the log does not say that decisions were not limited")
				}
			})
		})
	}
}

// TestDecisionsHaveARateAndLinksNone.
func TestDecisionsHaveARateAndLinksNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, withJWT)
		one := d.instance(limited)
		run, suspension := d.asking()
		link := decoded[wire.Link](t, one.ask(one.decisions, "POST", "/v1/runs/"+run.ID+"/links", `{"target":"`+suspension+`","for":"anna"}`, linker), 201).Link
		for n := range 5 { // what is refused counts as well
			if got := one.ask(one.decisions, "POST", "/v1/suspensions/sus_x"+fmt.Sprint(n), `{"action":"resume"}`); got.StatusCode != 404 {
				t.Fatalf("%d %s", got.StatusCode, got.Body)
			}
		}
		for _, path := range []string{"/v1/suspensions/" + suspension, "/v1/runs/" + run.ID + "/decisions", "/v1/runs/" + run.ID + "/resume"} {
			refused := one.ask(one.decisions, "POST", path, `{"target":"`+suspension+`","action":"resume"}`)
			if p := decoded[wire.Problem](t, refused, 429); p.Code != "rate_limited" || refused.Headers["Retry-After"] == "" {
				t.Errorf("%s: %s, %v", path, p.Code, refused.Headers)
			}
		}
		answered := one.ask(one.decisions, "POST", link, "", func(e *asked) {
			byNobody(e)
			e.Headers["content-type"], e.Headers["origin"] = "application/x-www-form-urlencoded", "https://"+e.Headers["host"]
			e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte("action=resume&shown="+run.Pending[0].Fingerprint)), true
		})
		if answered.StatusCode != 202 {
			t.Errorf("an answer by link: %d %s", answered.StatusCode, answered.Body)
		}
	})
}

func TestStreamsAreOpenedAtARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, withJWT)
		one, other := d.instance(limited), d.instance(limited)
		run, _ := d.asking()
		stream := func(one *deployed, path string) int {
			got := one.ask(one.runs, "GET", path, "", header("accept", "text/event-stream"))
			if got.StatusCode == 429 && !strings.Contains(got.Body, "too_many_streams") {
				t.Errorf("%s", got.Body)
			}
			return got.StatusCode
		}
		paths := []string{"/v1/runs/" + run.ID + "/events?follow=true", "/v1/events", "/v1/threads/" + run.ThreadID + "/events"}
		for n := range 5 {
			if status := stream([]*deployed{one, other}[n%2], paths[n%3]); status != 307 {
				t.Fatalf("stream %d: %d", n, status)
			}
		}
		for n, path := range paths {
			if status := stream([]*deployed{one, other}[n%2], path); status != 429 {
				t.Errorf("%s: %d", path, status)
			}
		}
		if got := one.ask(one.runs, "GET", paths[0][:strings.Index(paths[0], "?")], ""); got.StatusCode != 200 {
			t.Errorf("a page: %d", got.StatusCode)
		}
	})
}
