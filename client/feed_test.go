package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

// A stream that ends, or breaks in the middle of an event, is opened again after the last event.
func TestTheFeedContinuesWhereItsStreamBroke(t *testing.T) {
	var asked []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		w.Header().Set("Content-Type", "text/event-stream")
		n := len(asked)
		fmt.Fprintf(w, "id: c%d\nevent: counts\ndata: {\"waiting\":%d,\"kinds\":{}}\n\n: nothing\n\n", n, n)
		fmt.Fprintf(w, "id: e%d\nevent: call.suspended\ndata: {\"seq\":%d}\n\nid: torn\ndata: {\"seq\"", n, n)
	})
	var seqs []int64
	var waiting []int
	for item, err := range client.New(s.URL).Feed(t.Context(), client.FeedOptions{Agent: "desk", Tail: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Counts != nil {
			waiting = append(waiting, item.Counts.Waiting)
			continue
		}
		if item.Cursor != fmt.Sprint("e", item.Event.Seq) {
			t.Errorf("event %d has the cursor %q", item.Event.Seq, item.Cursor)
		}
		if seqs = append(seqs, item.Event.Seq); len(seqs) == 3 {
			break
		}
	}
	if got := fmt.Sprint(asked, seqs, waiting); got != "[agent=desk&from=tail after=e1&agent=desk after=e2&agent=desk] [1 2 3] [1 2 3]" {
		t.Error(got)
	}
}

func TestTheFeedEndsWithARefusal(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"status":403,"code":"role_required"}`)
	})
	_, err := client.Collect(client.New(s.URL).Feed(t.Context(), client.FeedOptions{}))
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Code != "role_required" {
		t.Errorf("it ended with %v", err)
	}
}
