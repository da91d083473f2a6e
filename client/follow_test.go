package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

// tornRun serves the log of a run that is done after two events. The first stream breaks inside the
// second event.
func tornRun(asked *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		after := r.URL.Query().Get("after")
		if r.Header.Get("Accept") != "text/event-stream" {
			*asked = append(*asked, "page "+after)
			fmt.Fprintf(w, `{"items":[],"done":%v}`, after == "e2")
			return
		}
		*asked = append(*asked, "stream "+after)
		w.Header().Set("Content-Type", "text/event-stream")
		if after == "" {
			fmt.Fprint(w, "data: {\"seq\":1,\"cursor\":\"e1\"}\n\ndata: {\"seq\":2")
			return
		}
		fmt.Fprint(w, "data: {\"seq\":2,\"cursor\":\"e2\"}\n\n")
	}
}

func TestEventsContinueWhereTheStreamBrokeUntilTheRunIsDone(t *testing.T) {
	var asked []string
	s := serve(t, tornRun(&asked))
	events, err := client.Collect(client.New(s.URL).Events(t.Context(), "run_a_0", client.EventOptions{}))
	if err != nil || len(events) != 2 || events[1].Cursor != "e2" {
		t.Errorf("%v, %v", events, err)
	}
	if got := fmt.Sprint(asked); got != "[stream  page e1 stream e1 page e2]" {
		t.Error(got)
	}
	asked = nil
	if events, err = client.Collect(client.New(s.URL).Events(t.Context(), "run_a_0", client.EventOptions{After: "e2"})); err != nil || len(events) > 0 || fmt.Sprint(asked) != "[page e2]" {
		t.Errorf("after the last event: %v, %v, requests %v", events, err, asked)
	}
}

func TestLeavingTheLoopEndsTheStream(t *testing.T) {
	var asked []string
	s := serve(t, tornRun(&asked))
	for e, err := range client.New(s.URL).Events(t.Context(), "run_a_0", client.EventOptions{}) {
		if err != nil || e.Seq != 1 {
			t.Errorf("event %d, %v", e.Seq, err)
		}
		break
	}
	if len(asked) != 1 {
		t.Errorf("requests %v", asked)
	}
}

// A client that retries also tries the first stream again; one that doesn't reports the error.
func TestTheFirstStreamIsRetriedLikeARequest(t *testing.T) {
	for _, retries := range []int{0, 1} {
		var asked []string
		run, failed := tornRun(&asked), false
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if !failed {
				failed = true
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			run(w, r)
		})
		events, err := client.Collect(client.New(s.URL, client.WithRetries(retries), client.WithSleep(noSleep)).Events(t.Context(), "run_a_0", client.EventOptions{}))
		if (err == nil) != (retries > 0) || err == nil && len(events) != 2 {
			t.Errorf("with %d retries: %v, %v", retries, events, err)
		}
	}
}
