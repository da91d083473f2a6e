package query

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// The words that filters of lists know.
var (
	// RunStatuses are the values of List.Status.
	RunStatuses = namesOf(core.RunCreated, core.RunRunning, core.RunWaiting, core.RunDone)

	// RunReasons are the values of List.Reason: every reason that a run which is done can have.
	RunReasons = namesOf(core.NaturalEnd, core.BehaviorRequested, core.Stopped, core.Cancelled, core.Blocked, core.Failed)

	// ResponseStates are the values of List.ResponseState.
	ResponseStates = []string{string(core.ResponseDone), string(core.ResponseNoOp), string(core.ResponseAwaitingInput)}

	// CallKinds are the values of List.Kind.
	CallKinds = namesOf(core.KindApproval, core.KindClient, core.KindInput, core.KindUnknownOutcome, core.KindInterrupt)

	// Orders are the values of List.Order.
	Orders = []string{"asc", OrderNewest}

	// DecisionActions are the values of DecisionQuery.Action.
	DecisionActions = namesOf(core.ActionResume, core.ActionCancel)
)

func namesOf[T interface{ String() string }](all ...T) (names []string) {
	for _, one := range all {
		names = append(names, one.String())
	}
	return names
}

// OrderNewest lists the newest first.
const OrderNewest = "desc"

// mostMetadata is how many metadata keys one list can be filtered by.
const mostMetadata = 16

// checkWord says which words a filter knows, if it does not know this one.
func checkWord(name, value string, words []string) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	last := len(words) - 1
	return refusal.New(refusal.CodeInvalid, "%s must be %s or %s", name, strings.Join(words[:last], ", "), words[last])
}

// check says what is wrong with the filters of a list, with the words that would be right.
func (q List) check() error {
	for _, one := range []struct {
		name, value string
		words       []string
	}{
		{"status", q.Status, RunStatuses}, {"reason", q.Reason, RunReasons}, {"response_state", q.ResponseState, ResponseStates}, {"kind", q.Kind, InboxKinds},
	} {
		if err := checkWord(one.name, one.value, one.words); err != nil {
			return err
		}
	}
	if len(q.Metadata) > mostMetadata {
		return refusal.New(refusal.CodeInvalid, "a list takes at most %d metadata filters", mostMetadata)
	}
	for key, value := range q.Metadata {
		if key == "" || key == "{key}" { // as it is written in the OpenAPI document
			return refusal.New(refusal.CodeInvalid, "the filter metadata.%s has no key; write metadata.KEY=VALUE", key)
		}
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return refusal.New(refusal.CodeInvalid, "a metadata filter is not UTF-8")
		}
	}
	return nil
}

// filter is what the runs of a list have in common. Everything it looks at is in a run's record.
type filter struct {
	Status   string            `json:"st,omitempty"`
	Agent    string            `json:"agent,omitempty"`
	Reason   string            `json:"why,omitempty"`
	Response string            `json:"rs,omitempty"`
	Metadata map[string]string `json:"meta,omitempty"`
	After    int64             `json:"from,omitempty"` // born at this time or later
	Before   int64             `json:"to,omitempty"`   // and before this one; 0: at any time
}

func (q List) filter() (filter, error) {
	return filter{q.Status, q.Agent, q.Reason, q.ResponseState, q.Metadata, millisFrom(q.CreatedAfter), millisFrom(q.CreatedBefore)}, q.check()
}

// millisFrom is the first whole millisecond at or after t, as runs are born at whole ones; 0 for no
// time. A time before 1970 counts as the first millisecond of it.
func millisFrom(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.Add(time.Millisecond-1).UnixMilli(), 1)
}

// fits says whether a list with this filter has the run.
func (w filter) fits(r core.Record) bool {
	done := r.Status == core.RunDone
	switch {
	case w.Agent != "" && r.Agent != w.Agent,
		w.Status != "" && r.Status.String() != w.Status,
		w.Reason != "" && !(done && r.End != nil && r.End.Kind.String() == w.Reason),
		w.Response != "" && !(done && string(r.Response) == w.Response),
		w.Before != 0 && r.Born >= w.Before, r.Born < w.After:
		return false
	}
	return w.fitsMetadata(r.Metadata)
}

func (w filter) fitsMetadata(raw json.RawMessage) bool {
	if len(w.Metadata) == 0 {
		return true
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return false
	}
	for key, want := range w.Metadata {
		if value, there := members[key]; !there || !says(value, want) {
			return false
		}
	}
	return true
}

// says whether a metadata value is the given text: a string by what it holds, a number, true, false
// or null as it is written. Objects and lists never match.
func says(value json.RawMessage, want string) bool {
	switch value[0] {
	case '{', '[':
		return false
	case '"':
		var text string
		return json.Unmarshal(value, &text) == nil && text == want
	}
	return string(value) == want
}

// markOf identifies the filters of a list in its cursors; empty without a filter.
func markOf(filters any) string {
	written := core.Encode(filters)
	if string(written) == "{}" {
		return ""
	}
	return core.Digest(written)[:10]
}

// marked is a store's cursor as callers get it, good only for a list with the same filters. A
// store's cursor contains no dot.
func marked(cursor, mark string) string {
	if cursor == "" || mark == "" {
		return cursor
	}
	return cursor + "." + mark
}

// unmarked is the store's cursor in one that a caller sent.
func unmarked(cursor, mark string) (string, error) {
	if cursor == "" || mark == "" {
		return cursor, nil
	}
	inner, ours := strings.CutSuffix(cursor, "."+mark)
	if !ours || inner == "" {
		return "", badListCursor()
	}
	return inner, nil
}
