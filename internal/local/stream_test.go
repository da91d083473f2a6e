package local

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// stream is one open connection to a run's events, read line by line as a stranger's client would.
type stream struct {
	t      *testing.T
	resp   *http.Response
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

func (s running) stream(t *testing.T, run, last, query string) stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr()+"/v1/runs/"+run+"/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return stream{t, resp, bufio.NewScanner(resp.Body), cancel}
}

// drop ends the connection from the reader's side.
func (s stream) drop() {
	s.cancel()
	s.resp.Body.Close()
}

// next reads one event; ok is false at the stream's end.
func (s stream) next() (id string, e wire.Event, ok bool) {
	s.t.Helper()
	for s.lines.Scan() {
		name, text, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "id":
			id = text
		case "data":
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				s.t.Fatal(err)
			}
		case "":
			if e.Type != "" {
				return id, e, true
			}
		}
	}
	return "", e, false
}

// rest reads the stream to its end.
func (s stream) rest() (events []wire.Event, last string) {
	s.t.Helper()
	for {
		id, e, ok := s.next()
		if !ok {
			return events, last
		}
		events, last = append(events, e), id
	}
}

// longWork calls its tool once a step, for ten steps.
func longWork() string {
	turns := ""
	for step := range 10 {
		turns += fmt.Sprintf("    - given: {step: %d}\n      calls:\n        - {tool: pay, arguments: {amount: %d}}\n", step+1, step+1)
	}
	return strings.Replace(allowed, `    - given: {no_result: true}
      calls:
        - {tool: pay, arguments: {amount: 5}}
`, turns, 1)
}

// A reader that is thrown out after every single event comes back with the id of that event. The
// run goes on meanwhile: each call of its tool waits for the reader to have come back once more.
func TestAReaderThatLosesTheStreamAtEveryEventSeesEachOnceInOrder(t *testing.T) {
	returned := make(chan struct{}, 1000)
	r := newRig(t, func(ctx context.Context) error {
		select {
		case <-returned:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	r.deploy(longWork())
	s := r.start()
	run := s.begin(t)
	var seen []wire.Event
	for last := ""; ; {
		st := s.stream(t, run.ID, last, "")
		if st.resp.StatusCode == http.StatusNoContent {
			break
		}
		id, e, ok := st.next()
		st.drop()
		if !ok {
			t.Fatalf("after %d events the stream ended without an event and without 204", len(seen))
		}
		if id != e.Cursor {
			t.Fatalf("the id is %q and the event's cursor %q", id, e.Cursor)
		}
		// what is not stored is not seen later
		if last = id; !strings.Contains(string(e.Data), `"live":true`) {
			seen = append(seen, e)
		}
		returned <- struct{}{}
	}
	all, err := s.EventPage(t.Context(), run.ID, client.EventQuery{Limit: 1000})
	if err != nil || !all.Done || len(all.Items) < 50 {
		t.Fatalf("%d events, done %v, %v", len(all.Items), all.Done, err)
	}
	if !slices.EqualFunc(seen, all.Items, sameEvent) {
		t.Errorf("saw %s\nof  %s", listed(seen), listed(all.Items))
	}
}

func sameEvent(a, b wire.Event) bool {
	return a.Seq == b.Seq && a.Type == b.Type && a.Cursor == b.Cursor && string(a.Data) == string(b.Data)
}

func listed(events []wire.Event) string {
	var words []string
	for _, e := range events {
		words = append(words, fmt.Sprint(e.Seq, " ", e.Type))
	}
	return strings.Join(words, ", ")
}

// endsAtRest says whether the last of the events are the end of a turn and the status that the run
// then has.
func endsAtRest(events []wire.Event) bool {
	n := len(events)
	return n >= 3 && events[n-1].Type == "run.status" && events[n-3].Type == "turn.ended"
}

func TestAStreamEndsAtAWaitHoldsThereWhenOpenedAgainAndIs204AtTheEnd(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked)
	s := r.start()
	run := s.begin(t)
	first, last := s.stream(t, run.ID, "", "").rest()
	if !endsAtRest(first) {
		t.Fatalf("the stream did not end behind turn.ended: %s", listed(first))
	}
	held := s.stream(t, run.ID, last, "")
	waiting := s.await(t, run.ID, "waiting")
	if _, err := s.Decide(t.Context(), run.ID, wire.Decision{Target: waiting.Pending[0].Suspension.ID, Result: json.RawMessage(`true`)}); err != nil {
		t.Fatal(err)
	}
	second, last := held.rest()
	all, err := s.EventPage(t.Context(), run.ID, client.EventQuery{Limit: 1000})
	if err != nil || !all.Done || !slices.EqualFunc(append(first, second...), all.Items, sameEvent) {
		t.Errorf("%s, then %s; of %s, %v", listed(first), listed(second), listed(all.Items), err)
	}
	if end := s.stream(t, run.ID, last, ""); end.resp.StatusCode != http.StatusNoContent {
		t.Errorf("all was read, and the answer is %d", end.resp.StatusCode)
	}
	whole, _ := s.stream(t, run.ID, "", "?follow=true").rest()
	if !slices.EqualFunc(whole, all.Items, sameEvent) {
		t.Errorf("from the first again: %s", listed(whole))
	}
}

func TestFollowingGoesOnOverWaitsAndOverAServerThatWasStartedAgain(t *testing.T) {
	r, paid := countingRig(t)
	r.deploy(asked)
	s := r.start()
	run := s.begin(t)
	addr := s.Addr()
	waits, seen, followed := make(chan string, 1), []wire.Event{}, make(chan error, 1)
	go func() {
		for e, err := range client.New("http://"+addr, client.WithRetries(0)).Events(t.Context(), run.ID, client.EventOptions{Follow: true}) {
			if err != nil {
				followed <- err
				return
			}
			seen = append(seen, e)
			if e.Type == "turn.ended" {
				select {
				case waits <- e.Cursor:
				default:
				}
			}
		}
		followed <- nil
	}()
	<-waits
	s.end(t)
	o := r.options()
	o.Addr = addr
	again := r.startWith(o)
	waiting := again.await(t, run.ID, "waiting")
	if _, err := again.Decide(t.Context(), run.ID, wire.Decision{Target: waiting.Pending[0].Suspension.ID, Result: json.RawMessage(`true`)}); err != nil {
		t.Fatal(err)
	}
	if err := <-followed; err != nil {
		t.Fatal(err)
	}
	all, err := again.EventPage(t.Context(), run.ID, client.EventQuery{Limit: 1000})
	if err != nil || !slices.EqualFunc(seen, all.Items, sameEvent) || paid.Load() != 1 {
		t.Errorf("%s\nof %s, %v; paid %d times", listed(seen), listed(all.Items), err, paid.Load())
	}
}

func TestFollowingWithoutGoingOnReturnsAtTheWait(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked)
	s := r.start()
	run := s.begin(t)
	events, err := client.Collect(s.Events(t.Context(), run.ID, client.EventOptions{}))
	if err != nil || !endsAtRest(events) {
		t.Fatalf("%v, after %s", err, listed(events))
	}
	cursor := events[len(events)-1].Cursor
	if again, err := client.Collect(s.Events(t.Context(), run.ID, client.EventOptions{After: cursor})); err != nil || len(again) > 0 {
		t.Errorf("seen twice: %s, %v", listed(again), err)
	}
	if _, err := client.Collect(s.Events(t.Context(), "run_nowhere_0", client.EventOptions{})); err == nil {
		t.Error("a run that is not there was followed")
	}
}

func TestOpenStreamsEndWhenTheServerStops(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked)
	s := r.start()
	run := s.begin(t)
	_, last := s.stream(t, run.ID, "", "").rest()
	held := s.stream(t, run.ID, last, "")
	s.end(t)
	if events, _ := held.rest(); len(events) > 0 {
		t.Errorf("after the end came %s", listed(events))
	}
}
