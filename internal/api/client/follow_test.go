package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
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

func TestFollowGoesOnWhereItWasUntilTheRunIsDone(t *testing.T) {
	var asked []string
	s := serve(t, tornRun(&asked))
	var seqs []int64
	cursor, err := client.New(s.URL, "", nil).Follow(t.Context(), "run_a_0", "", false, func(e wire.Event) error {
		seqs = append(seqs, e.Seq)
		return nil
	})
	if err != nil || cursor != "e2" {
		t.Errorf("it ended at %q with %v", cursor, err)
	}
	if got := fmt.Sprint(asked, seqs); got != "[stream  page e1 stream e1 page e2] [1 2]" {
		t.Error(got)
	}
}

func TestFollowReturnsTheErrorOfItsReader(t *testing.T) {
	var asked []string
	s := serve(t, tornRun(&asked))
	enough := errors.New("enough")
	_, err := client.New(s.URL, "", nil).Follow(t.Context(), "run_a_0", "", false, func(wire.Event) error { return enough })
	if !errors.Is(err, enough) || len(asked) != 1 {
		t.Errorf("it ended with %v after %v", err, asked)
	}
	if _, err = client.New(s.URL, "", nil).Follow(t.Context(), "run_a_0", "e2", false, nil); err != nil || asked[1] != "page e2" || len(asked) != 2 {
		t.Errorf("behind the last event it ended with %v after %v", err, asked)
	}
}
