package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// A stream that ends, or breaks in the middle of an event, is opened again behind what came last.
func TestFollowFeedGoesOnWhereItWas(t *testing.T) {
	var asked []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		w.Header().Set("Content-Type", "text/event-stream")
		n := len(asked)
		fmt.Fprintf(w, "id: c%d\nevent: counts\ndata: {\"waiting\":%d,\"kinds\":{}}\n\n: nothing\n\n", n, n)
		fmt.Fprintf(w, "id: e%d\nevent: call.suspended\ndata: {\"seq\":%d}\n\nid: torn\ndata: {\"seq\"", n, n)
	})
	over := errors.New("enough")
	var seqs []int64
	var waiting []int
	err := client.New(s.URL, "", nil).FollowFeed(t.Context(), client.Feed{Agent: "desk", Tail: true,
		Counts: func(c wire.Counts) error { waiting = append(waiting, c.Waiting); return nil },
		Each: func(e wire.Event) error {
			if seqs = append(seqs, e.Seq); len(seqs) == 3 {
				return over
			}
			return nil
		}})
	if !errors.Is(err, over) {
		t.Errorf("it ended with %v", err)
	}
	if got := fmt.Sprint(asked, seqs, waiting); got != "[agent=desk&from=tail after=e1&agent=desk after=e2&agent=desk] [1 2 3] [1 2 3]" {
		t.Error(got)
	}
}

func TestFollowFeedEndsWhereItIsRefused(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"status":403,"code":"role_required"}`)
	})
	err := client.New(s.URL, "", nil).FollowFeed(t.Context(), client.Feed{Each: func(wire.Event) error { return nil }})
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Code != "role_required" {
		t.Errorf("it ended with %v", err)
	}
}
