package awsapi_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bounds"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/quota"
)

// heldRates holds two reads of a tenant, and eight of all, over time.
var heldRates = bounds.Rates{pace.Held: pace.PerSecond(2, 20), pace.HeldByAll: pace.PerSecond(8, 20)}

// TestNoCallerHoldsAllInstances: who sends huge waits, many at once and in each of the ways that a
// read can wait, is answered at once beyond the rate; others' reads are held beside it.
func TestNoCallerHoldsAllInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, withJWT)
		run := decoded[wire.Run](t, d.ask(d.runs, "POST", "/v1/runs", startBody), 202)
		ask := decoded[wire.Ask](t, d.ask(d.runs, "POST", "/v1/asks", `{"title":"Deploy?"}`), 202)
		ways := []struct {
			path string
			wait func(*asked)
		}{
			{"/v1/runs/" + run.ID, header("prefer", "wait=20")},
			{"/v1/runs/" + run.ID, header("prefer", "wait=999999999")},
			{"/v1/runs/" + run.ID, header("prefer", "respond-async, wait=20, wait=1")},
			{"/v1/asks/" + ask.ID, header("prefer", "wait=20")},
			{"/v1/runs/" + run.ID + "/events?from=tail&wait=999999999", header("x-forwarded-for", "203.0.113.9")},
			{"/v1/events?from=tail&wait=20", header("x-tenant", "zoo")},
		}
		var mu sync.Mutex
		held, most, cut := 0, 0, 0
		var group sync.WaitGroup
		begin := time.Now()
		for n := range 120 {
			way := ways[n%len(ways)]
			one := d.instance(heldRates) // an instance serves one request at a time
			group.Go(func() {
				mu.Lock()
				held++
				mu.Unlock()
				before := time.Now()
				got := one.ask(one.runs, "GET", way.path, "", way.wait)
				mu.Lock()
				defer mu.Unlock()
				held--
				if got.StatusCode != http.StatusOK {
					t.Errorf("%s: %d %s", way.path, got.StatusCode, got.Body)
				}
				if time.Since(before) < 4*time.Second && time.Since(begin) < 4*time.Second {
					if cut++; got.Headers["Retry-After"] != "5" || got.Headers["Preference-Applied"] != "" {
						t.Errorf("%s is answered at once and does not say so: %v", way.path, got.Headers)
					}
				}
			})
		}
		time.Sleep(3 * time.Second)
		mu.Lock()
		most = held
		mu.Unlock()
		if most == 0 || most > 6 {
			t.Errorf("%d reads of one tenant are held after 3 seconds, and %d answered", most, cut)
		}
		zoo := decoded[wire.Run](t, d.ask(d.runs, "POST", "/v1/runs", startBody, ofTenant("zoo")), 202)
		one := d.instance(heldRates)
		before := time.Now()
		got := one.ask(one.runs, "GET", "/v1/runs/"+zoo.ID, "", ofTenant("zoo"), header("prefer", "wait=10"))
		if got.StatusCode != 200 || time.Since(before) < 9*time.Second || got.Headers["Retry-After"] != "" || got.Headers["Preference-Applied"] != "wait" {
			t.Errorf("another tenant's read after %v: %d %v", time.Since(before), got.StatusCode, got.Headers)
		}
		group.Wait()
		if took := time.Since(begin); took > 25*time.Second {
			t.Errorf("the flood took %v", took)
		}
	})
}

// TestAReadIsAnsweredWhenItsTimeCannotBeCounted: a throttled bucket ends no read with an error, and
// holds none.
func TestAReadIsAnsweredWhenItsTimeCannotBeCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, withJWT)
		run := decoded[wire.Run](t, d.ask(d.runs, "POST", "/v1/runs", startBody), 202)
		d.double.Fail(func(c awsdouble.Call) awsdouble.Fault {
			if strings.HasPrefix(c.Key, quota.PrefixBucket) {
				return awsdouble.Throttle()
			}
			return awsdouble.Fault{}
		})
		one, before := d.instance(heldRates), time.Now()
		got := one.ask(one.runs, "GET", "/v1/runs/"+run.ID, "", header("prefer", "wait=20"))
		if got.StatusCode != 200 || got.Headers["Retry-After"] != "5" || time.Since(before) > 2*time.Second {
			t.Errorf("%d %v after %v", got.StatusCode, got.Headers, time.Since(before))
		}
	})
}

// TestABufferedStreamIsHeldAsAReadIs: where streams have no address, one holds an instance, too. It
// ends, and does not spin, when it may not be held longer.
func TestABufferedStreamIsHeldAsAReadIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		access := withJWT
		access.StreamURL = ""
		d := deploy(t, access)
		run := decoded[wire.Run](t, d.ask(d.runs, "POST", "/v1/runs", startBody), 202)
		reads := 0
		d.double.Fail(func(awsdouble.Call) awsdouble.Fault { reads++; return awsdouble.Fault{} })
		open := func(one *deployed) time.Duration {
			before := time.Now()
			got := one.ask(one.runs, "GET", "/v1/runs/"+run.ID+"/events?follow=true&from=tail", "", header("accept", "text/event-stream"))
			if got.StatusCode != 200 || !strings.HasPrefix(got.Headers["Content-Type"], "text/event-stream") {
				t.Errorf("%d %s", got.StatusCode, got.Body)
			}
			return time.Since(before)
		}
		if took := open(d.instance(heldRates)); took < 18*time.Second {
			t.Errorf("the first stream ended after %v", took)
		}
		exhausted := bounds.Rates{pace.Held: pace.PerSecond(0.001, 1)}
		one := d.instance(exhausted)
		open(one)
		reads = 0
		if took := open(one); took > 2*time.Second || reads > 20 {
			t.Errorf("a stream that is not held took %v and %d requests", took, reads)
		}
	})
}

// TestWithoutRatesReadsAreHeldAsBefore.
func TestWithoutRatesReadsAreHeldAsBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deploy(t, withJWT)
		run := decoded[wire.Run](t, d.ask(d.runs, "POST", "/v1/runs", startBody), 202)
		writes := 0
		d.double.Fail(func(c awsdouble.Call) awsdouble.Fault {
			if strings.HasPrefix(c.Key, quota.PrefixBucket) {
				writes++
			}
			return awsdouble.Fault{}
		})
		one, before := d.instance(nil), time.Now()
		got := one.ask(one.runs, "GET", "/v1/runs/"+run.ID, "", header("prefer", "wait=20"))
		if got.Headers["Preference-Applied"] != "wait" || time.Since(before) < 19*time.Second || writes != 0 {
			t.Errorf("%v after %v, %d writes", got.Headers, time.Since(before), writes)
		}
	})
}
