package params

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Inbox reads what the inbox is read by, and whether its questions are counted.
func Inbox(r *http.Request) (q query.List, count bool, err error) {
	if q, err = List(r); err != nil {
		return q, false, err
	}
	values := r.URL.Query()
	q.Kind, q.Thread, q.Tool = values.Get("kind"), values.Get("thread_id"), values.Get("tool")
	q.Order, q.Mine, q.Text = values.Get("order"), values.Get("mine"), values.Get("q")
	switch values.Get("count") {
	case "", "false":
	case "true":
		count = true
	default:
		err = &refusal.Error{Code: refusal.CodeInvalid, Detail: "count must be true or false"}
	}
	return q, count, err
}
