package dynamo

import (
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// The id of a suspension ends with its thread, which is also in the head's key. The head stores the
// id without it; a final underscore stands for the thread.
//
//	in the head:  sus_2_lt3l2msrmzhpnsyu_
//	the id:       sus_2_lt3l2msrmzhpnsyu_ewuibbrzogybp3m2aylul3cr

func packed(thread, id string) string {
	if rest, ours := strings.CutSuffix(id, strings.TrimPrefix(thread, "thr_")); ours && isSuspension(id) && strings.HasSuffix(rest, "_") {
		return rest
	}
	return id
}

func unpacked(thread, id string) string {
	if isSuspension(id) && strings.HasSuffix(id, "_") {
		return id + strings.TrimPrefix(thread, "thr_")
	}
	return id
}

// isSuspension reports whether id is the id of a suspension or is derived from one: the key of a
// late answer, of a refused one, of a vote or of a notice in the outbox.
func isSuspension(id string) bool {
	for _, prefix := range []string{"", core.LateKey(""), core.MisfitKey(""), core.RefusedKey(""), core.NoticeKey("")} {
		if rest, ok := strings.CutPrefix(id, prefix); ok && strings.HasPrefix(rest, "sus_") {
			return true
		}
	}
	_, voted := core.VoteOf(id)
	return strings.HasPrefix(voted, "sus_")
}

// suspensionsOf applies change to every suspension id in a call.
func suspensionsOf(c core.Call, change func(string) string) core.Call {
	c.Sus, c.PassedDecision, c.EditedBy = change(c.Sus), change(c.PassedDecision), change(c.EditedBy)
	return c
}

// outboxOf applies change to every suspension id in an outbox.
func outboxOf(out map[string]core.Out, change func(string) string) map[string]core.Out {
	if out == nil {
		return nil
	}
	changed := make(map[string]core.Out, len(out))
	for key, o := range out {
		o.Sus = change(o.Sus)
		changed[change(key)] = o
	}
	return changed
}
