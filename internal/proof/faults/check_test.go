//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// missing opens a store as a server does, and says what of the acknowledged is not in it.
func missing(ctx context.Context, path string, acks []string) (lost []string, err error) {
	db, err := sqlite.Open(ctx, path, sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}, Examine: time.Minute})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	for _, line := range acks {
		words := strings.Fields(line)
		if words[0] == "health" {
			continue
		}
		if err := there(ctx, db, words); err != nil {
			lost = append(lost, fmt.Sprintf("%s: %v", line, err))
		}
	}
	return lost, nil
}

// there looks for a start, or for a decision: in the inbox, or in the journal as it was made.
func there(ctx context.Context, db *sqlite.DB, words []string) error {
	thread, ok := core.ThreadOf(words[1])
	if !ok {
		return errors.New("no run")
	}
	h, err := db.Load(ctx, access.Tenant, thread)
	if err != nil {
		return err
	}
	segments, err := db.Segments(ctx, access.Tenant, thread, 1, h.Seq)
	if err == nil {
		err = core.CheckChain(h, 1, segments)
	}
	if err != nil || words[0] == "start" {
		return err
	}
	sus, action := words[2], words[3]
	for key := range h.Inbox { // the first one counts, and is never replaced
		if strings.Contains(key, sus) {
			return nil
		}
	}
	for _, s := range segments {
		for _, e := range s.Events {
			if text := string(e.Data); e.Type == core.EventDecisionRecorded && strings.Contains(text, sus) && strings.Contains(text, action) {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: the decision", engine.ErrNotFound)
}
