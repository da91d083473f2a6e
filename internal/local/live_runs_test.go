package local

import (
	"net/http"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// What the next run of a thread says is for the readers of that run: who comes back behind the end
// of the one before is told that it is over.
func TestAReaderBehindTheEndOfARunDoesNotHearTheNextOne(t *testing.T) {
	m, s, run := speak(t)
	open := s.stream(t, run.ID, "", "")
	m.end <- ended{turn: core.Turn{Text: "Hello."}}
	_, last := open.rest()
	next, err := s.SendMessage(t.Context(), run.ThreadID, wire.MessageRequest{Input: []byte(`"and?"`)}, "")
	if err != nil {
		t.Fatal(err)
	}
	m.listening()
	m.says("And now")
	s.stream(t, next.ID, "", "").reads(0, "And now")
	back := s.stream(t, run.ID, last, "")
	if events, _ := back.rest(); back.resp.StatusCode != http.StatusNoContent || len(events) > 0 {
		t.Errorf("the answer is %d, with %s", back.resp.StatusCode, listed(events))
	}
	m.end <- ended{turn: core.Turn{Text: "And now?"}}
}
