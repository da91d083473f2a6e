package console

import (
	"context"
	"fmt"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

// talk is a long conversation, and counts the messages that were read of it.
type talk struct {
	Reads
	length, read int
}

func (t *talk) Messages(_ context.Context, _ frontend.Caller, _ string, q query.List) (page wire.Page[wire.Message], err error) {
	at := t.length
	if q.Cursor != "" {
		_, err = fmt.Sscan(q.Cursor, &at)
	}
	for ; at > 0 && len(page.Items) < q.Limit; at-- {
		m := wire.Message{Role: "user", Text: fmt.Sprint(at)}
		if at%3 == 0 { // a model that asks for a call and says nothing
			m = wire.Message{Role: "assistant"}
		}
		page.Items = append(page.Items, m)
		t.read++
	}
	if at > 0 {
		page.Next = fmt.Sprint(at)
	}
	return page, err
}

func TestALongConversationIsReadFromItsEnd(t *testing.T) {
	for _, length := range []int{10, 300, 100_000} {
		of := &talk{length: length}
		c := &Console{Options: Options{Reads: of}}
		said, earlier, err := c.said(t.Context(), frontend.Caller{}, "thr_1")
		if err != nil || earlier != (length > 300) || len(said) > mostSaid || length >= 300 && len(said) != mostSaid || of.read > 2*mostSaid {
			t.Errorf("of %d messages %d are shown, %d were read, earlier %v, %v", length, len(said), of.read, earlier, err)
		}
		if last := said[len(said)-1].Text; last != fmt.Sprint(length) && last != fmt.Sprint(length-1) {
			t.Errorf("the last is %q", last)
		}
	}
}
