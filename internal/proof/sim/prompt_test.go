package sim_test

import (
	"bytes"
	"context"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// checkPrompt holds what a model is sent against the journal: it is what was said up to one of its
// segments, the last, or an earlier one if the worker has lost the run since. What a process keeps
// between two steps must not show.
func (c model) checkPrompt(ctx context.Context, p engine.Prompt) {
	// of a run that another owner has by now, the call may be stopped already
	segments, err := c.journalOf(context.WithoutCancel(ctx), p)
	switch {
	case err != nil && c.s.table != nil: // its wire has faults, and is not asked again
		return
	case err != nil:
		c.s.wrong("the journal of %s, whose model is asked: %v", p.Thread, err)
		return
	}
	for n := len(segments); n > 0; n-- {
		if sends(p.Messages, core.TranscriptOf(core.Messages(segments[:n]))) {
			return
		}
	}
	c.s.wrong("the model of %s is sent what no journal holds: %s", p.Run, core.Encode(p.Messages))
}

func (c model) journalOf(ctx context.Context, p engine.Prompt) ([]core.Segment, error) {
	h, err := c.s.store().Load(ctx, p.Tenant, p.Thread)
	if err != nil {
		return nil, err
	}
	return c.s.store().Segments(ctx, p.Tenant, p.Thread, 1, h.Seq)
}

// sends says whether a prompt is a transcript, with what the start supplied, and with what hooks
// added behind it.
func sends(prompt, transcript []core.Message) bool {
	prompt = slices.DeleteFunc(slices.Clone(prompt), func(m core.Message) bool { return m.Role == core.RoleContext })
	if len(prompt) < len(transcript) {
		return false
	}
	for _, m := range prompt[len(transcript):] {
		if m.Role != core.RoleSystem {
			return false
		}
	}
	return bytes.Equal(core.Encode(prompt[:len(transcript)]), core.Encode(transcript))
}
