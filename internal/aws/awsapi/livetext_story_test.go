package awsapi_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

const textPace = 100 * time.Millisecond // of a model

func TestABrowserSeesTokensBeforeTheyAreCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTalking(t, talker(300, textPace), true)
		run := s.begin()
		first, late := s.open(run.ID), s.open(run.ID)
		var pages sync.WaitGroup
		pages.Go(func() { first.follow(time.Hour) })
		synctest.Wait()
		_, done := s.step()
		time.Sleep(10 * time.Second)
		pages.Go(func() { late.follow(time.Hour) })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		pages.Wait()
		for name, p := range map[string]*page{"the first": first, "one that comes late": late} {
			if !p.done || !p.ended || p.text != said(300) || p.resets != 0 || len(p.live) == 0 {
				t.Fatalf("%s: done %v, %d resets, %d pieces, shows %.100q", name, p.done, p.resets, len(p.live), p.text)
			}
			if early := p.ends.Sub(p.live[0]); early < 19*time.Second || len(p.live) < 30 {
				t.Errorf("%s saw live text %v before the rest, %d times", name, early, len(p.live))
			}
		}
		if strings.Join(first.events, " ") != strings.Join(late.events, " ") {
			t.Errorf("they saw %q and %q", first.events, late.events)
		}
	})
}

// A chat client sees them, too, through its protocol: its POST starts the run, is answered with the
// address of the stream, and marks the run as watched.
func TestAChatClientSeesTokensBeforeTheyAreCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTalking(t, talker(100, textPace), true)
		sent := s.ask(s.runs, "POST", "/ai-sdk/talker", `{"id":"chat-1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"Talk"}]}]}`)
		if sent.StatusCode != 303 {
			t.Fatalf("%d %s", sent.StatusCode, sent.Body)
		}
		var text strings.Builder
		var deltas []time.Time
		var page sync.WaitGroup
		page.Go(func() {
			s.lines(sent.Headers["Location"], time.Minute, func(line []byte) {
				var chunk struct{ Type, Delta string }
				data, _ := bytes.CutPrefix(line, []byte("data: "))
				if json.Unmarshal(data, &chunk) == nil && chunk.Type == "text-delta" {
					text.WriteString(chunk.Delta)
					deltas = append(deltas, time.Now())
				}
			})
		})
		_, done := s.step()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		committed := time.Now()
		page.Wait()
		if text.String() != said(100) || len(deltas) < 15 || committed.Sub(deltas[0]) < 9*time.Second {
			t.Errorf("%d deltas: %.200q", len(deltas), text.String())
		}
	})
}

// What live text costs: nothing in a run that no one watches, and in one that is watched an item in
// each pause and the reads of the stream. The price in docs/guides/deploy-on-aws.md is that of
// us-east-1 in November 2026: $0.625 per million write units and $0.125 per million read units.
func TestWhatLiveTextCosts(t *testing.T) {
	type cost struct {
		units    awsdouble.Units
		requests map[string]int
	}
	play := func(on, watched bool) (c cost) {
		synctest.Test(t, func(t *testing.T) {
			s := newTalking(t, talker(605, textPace), on)
			run := s.begin()
			p := s.open(run.ID)
			var pages sync.WaitGroup
			if watched {
				pages.Go(func() { p.follow(time.Hour) })
			}
			synctest.Wait()
			_, done := s.step()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			pages.Wait()
			c = cost{s.double.Units(), s.double.Requests()}
		})
		return c
	}
	off, on := play(false, false), play(true, false)
	if off.units != on.units || !sameCounts(off.requests, on.requests) {
		t.Errorf("a run that no one watches costs %+v %v without live text, and %+v %v with it", off.units, off.requests, on.units, on.requests)
	}
	plain, live := play(false, true), play(true, true)
	const seconds = 60.5
	write, read := (live.units.Write+live.units.IndexWrite-plain.units.Write-plain.units.IndexWrite)/seconds, (live.units.Read-plain.units.Read)/seconds
	t.Logf("unwatched: %+v either way; a second of live text costs %.2f write units and %.2f read units more; a stream without it reads %.2f a second",
		on.units, write, read, (plain.units.Read-off.units.Read)/seconds)
	guide, err := os.ReadFile("../../../docs/guides/deploy-on-aws.md")
	if err != nil || !strings.Contains(string(guide), "3.4 write units and 11 read units per second of text") || math.Abs(write-3.4) > 0.2 || math.Abs(read-11) > 1.5 {
		t.Errorf("a second of live text costs %.2f write units and %.2f read units; the guide says otherwise (%v)", write, read, err)
	}
}

func sameCounts(a, b map[string]int) bool {
	for name := range b {
		if a[name] != b[name] {
			return false
		}
	}
	return len(a) == len(b)
}

// stored counts the items of live text that are written from now on, and lets them fail if fail is
// set.
func (s *talking) stored(fail bool) (count func() int) {
	var mu sync.Mutex
	n := 0
	s.double.Fail(func(c awsdouble.Call) (none awsdouble.Fault) {
		if c.Operation != "PutItem" || !strings.HasPrefix(c.Key, "LIVE#") {
			return none
		}
		mu.Lock()
		defer mu.Unlock()
		n++
		if fail {
			return awsdouble.Throttle()
		}
		return none
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		defer func() { n = 0 }()
		return n
	}
}

// A reader who leaves is not noticed. The mark in the head is over some minutes later.
func TestLiveTextEndsSomeMinutesAfterItsReaderHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTalking(t, talker(1100, 5*textPace), true)
		run := s.begin()
		written := s.stored(false)
		p := s.open(run.ID)
		var pages sync.WaitGroup
		pages.Go(func() { p.follow(3 * time.Minute) })
		synctest.Wait()
		_, done := s.step()
		time.Sleep(5 * time.Minute)
		if n := written(); n < 100 {
			t.Errorf("%d items while someone watches", n)
		}
		time.Sleep(2 * time.Minute)
		written()
		time.Sleep(time.Minute)
		if n := written(); n != 0 {
			t.Errorf("%d items after the reader has left", n)
		}
		pages.Go(func() { p.follow(time.Hour) }) // and comes again
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		pages.Wait()
		if !p.ended || p.text != said(1100) || p.resets != 0 || written() < 10 {
			t.Errorf("ended %v, %d resets, %d bytes", p.ended, p.resets, len(p.text))
		}
	})
}

// The process that does a step dies in the middle of its text. Its text is shown until another
// process takes the run over, and is then replaced: it is never mixed with what the other says.
func TestTheTextOfADeadStepIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTalking(t, talker(200, textPace), true)
		s.lease = 2 * time.Minute
		run := s.begin()
		p := s.open(run.ID)
		var pages sync.WaitGroup
		pages.Go(func() { p.follow(time.Hour) })
		synctest.Wait()
		kill, dead := s.step()
		time.Sleep(10 * time.Second)
		kill()
		if err := <-dead; err == nil {
			t.Fatal("the step has not failed")
		}
		synctest.Wait()
		if partial := p.text; partial == "" || p.ended || !strings.HasPrefix(said(200), partial) {
			t.Errorf("of a dead step %q is shown, ended: %v", partial, p.ended)
		}
		time.Sleep(3 * time.Minute) // past the lease
		s.wakeAgain(run)
		_, done := s.step()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		pages.Wait()
		if !p.done || p.text != said(200) || p.resets != 1 || len(p.live) < 40 {
			t.Errorf("done %v, %d resets, %d pieces, shows %.100q", p.done, p.resets, len(p.live), p.text)
		}
	})
}

// wakeAgain is what the sweep does.
func (s *talking) wakeAgain(run wire.Run) {
	s.t.Helper()
	if err := s.wake.Send(s.t.Context(), engine.Wakeup{Tenant: "acme", Thread: run.ThreadID}, 0); err != nil {
		s.t.Fatal(err)
	}
}

// A table that takes no live text delays no step: the answer is committed as soon as without it.
func TestThrottledLiveTextDelaysNoStep(t *testing.T) {
	took := map[bool]time.Duration{}
	for _, throttled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newTalking(t, talker(100, textPace), true)
			run := s.begin()
			s.stored(throttled)
			p := s.open(run.ID)
			var pages sync.WaitGroup
			pages.Go(func() { p.follow(time.Hour) })
			synctest.Wait()
			began := time.Now()
			_, done := s.step()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			took[throttled] = time.Since(began)
			pages.Wait()
			if !p.done || p.text != said(100) || throttled == (len(p.live) > 0) {
				t.Errorf("throttled %v: done %v, %d pieces, %d bytes", throttled, p.done, len(p.live), len(p.text))
			}
		})
	}
	if took[true] != took[false] {
		t.Errorf("a step took %v, and %v where live text was throttled", took[false], took[true])
	}
}

// A ticket shows the live text of its run alone: not that of another run, of another tenant's, or
// of the run that comes next in the thread.
func TestATicketShowsTheLiveTextOfItsRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTalking(t, talker(50, textPace), true)
		mine, foreign := s.begin(), s.begin(ofTenant("other"))
		if got := s.ask(s.runs, "GET", "/v1/runs/"+foreign.ID+"/events?follow=true", "", header("accept", "text/event-stream")); got.StatusCode != 404 {
			t.Fatalf("%d %s", got.StatusCode, got.Body)
		}
		theirs := decoded[wire.Run](t, s.ask(s.runs, "GET", "/v1/runs/"+foreign.ID, "", ofTenant("other")), 200)
		marked := s.ask(s.runs, "GET", "/v1/runs/"+theirs.ID+"/events?follow=true", "", header("accept", "text/event-stream"), ofTenant("other"))
		if marked.StatusCode != 307 {
			t.Fatalf("%d %s", marked.StatusCode, marked.Body)
		}
		p := s.open(mine.ID)
		var pages sync.WaitGroup
		pages.Go(func() { p.follow(20 * time.Second) })
		synctest.Wait()
		idle, _ := s.wake.take() // the run of the page does nothing
		written := s.stored(false)
		_, done := s.step()
		if err := <-done; err != nil || written() == 0 {
			t.Fatal("the other run said nothing live", err)
		}
		pages.Wait()
		if len(p.live) != 0 || p.text != "" {
			t.Errorf("the page of a run that is idle shows %q", p.text)
		}
		if err := s.wake.Send(t.Context(), idle, 0); err != nil {
			t.Fatal(err)
		}
		_, done = s.step()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		s.ask(s.runs, "POST", "/v1/threads/"+mine.ThreadID+"/messages", `{"input":"And again"}`)
		thread := &page{s: s, path: "/v1/threads/" + mine.ThreadID + "/events?follow=true&from=tail"}
		old := &page{s: s, path: "/v1/runs/" + mine.ID + "/events?follow=true"}
		pages.Go(func() { thread.follow(20 * time.Second) })
		synctest.Wait()
		_, done = s.step()
		pages.Go(func() { old.follow(20 * time.Second) })
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		pages.Wait()
		if len(thread.live) == 0 || len(old.live) != 0 || !old.done {
			t.Errorf("the thread shows %d live pieces, its run that is done %d", len(thread.live), len(old.live))
		}
	})
}
