// Package headform writes the parts of a head in few bytes: a write of a head should take one
// capacity unit, which is 1,024 bytes.
package headform

import (
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// The id of a suspension ends with its thread, which is also in the head's key. The head stores the
// id without it; a final underscore stands for the thread.
//
//	in the head:  sus_2_lt3l2msrmzhpnsyult3l2msrmz_
//	the id:       sus_2_lt3l2msrmzhpnsyult3l2msrmz_ewuibbrzogybp3m2aylul3cr

// Short is the form in a head of the thread of a suspension id, or of a key that ends with one.
// Any other text stays as it is.
func Short(thread, id string) string {
	if rest, ours := strings.CutSuffix(id, strings.TrimPrefix(thread, "thr_")); ours && isSuspension(id) && strings.HasSuffix(rest, "_") {
		return rest
	}
	return id
}

// Long reverses [Short].
func Long(thread, id string) string {
	if isSuspension(id) && strings.HasSuffix(id, "_") {
		return id + strings.TrimPrefix(thread, "thr_")
	}
	return id
}

// derived are the keys that begin with a word and end with the id of a suspension: of a late answer
// or a refused one, of a withdrawal, and of what the outbox owes a child. NoticeKey is an older
// program's.
var derived = []string{core.LateKey(""), core.MisfitKey(""), core.RefusedKey(""), core.NoticeKey(""), core.LaunchKey(""), core.CancelKey(""),
	core.PauseKey(""), core.GoOnKey(""), core.WithdrawnKey("")}

// isSuspension reports whether id is the id of a suspension or a key that is derived from one.
func isSuspension(id string) bool {
	if strings.HasPrefix(id, "sus_") {
		return true
	}
	for _, prefix := range derived {
		if rest, ok := strings.CutPrefix(id, prefix); ok && strings.HasPrefix(rest, "sus_") {
			return true
		}
	}
	_, voted := core.VoteOf(id)
	return strings.HasPrefix(voted, "sus_")
}

// ShortCall is a call with short suspension ids.
func ShortCall(thread string, c core.Call) core.Call { return inCall(c, thread, Short) }

// LongCall reverses [ShortCall].
func LongCall(thread string, c core.Call) core.Call { return inCall(c, thread, Long) }

func inCall(c core.Call, thread string, form func(thread, id string) string) core.Call {
	for _, id := range []*string{&c.Sus, &c.PassedDecision, &c.EditedBy, &c.Above} {
		*id = form(thread, *id)
	}
	return c
}

// ShortOutbox is an outbox with short suspension ids.
func ShortOutbox(thread string, out map[string]core.Out) map[string]core.Out {
	return inOutbox(out, thread, Short)
}

// LongOutbox reverses [ShortOutbox].
func LongOutbox(thread string, out map[string]core.Out) map[string]core.Out {
	return inOutbox(out, thread, Long)
}

func inOutbox(out map[string]core.Out, thread string, form func(thread, id string) string) map[string]core.Out {
	if out == nil {
		return nil
	}
	changed := make(map[string]core.Out, len(out))
	for key, o := range out {
		o.Sus, o.ID = form(thread, o.Sus), form(thread, o.ID)
		changed[form(thread, key)] = o
	}
	return changed
}
