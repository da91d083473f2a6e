package local

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/frontend/longpoll"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// openSessions remembers which sessions had not ended for as long as nothing is stored: each open
// page of the console asks again and again.
type openSessions struct {
	*sqlite.DB

	known longpoll.Unchanged
}

// SessionEnded implements [session.Ended].
func (s *openSessions) SessionEnded(ctx context.Context, id string) (ended bool, err error) {
	stamp := s.Stamp(ctx) // before the read, which may see more
	if s.known.Since(id, stamp) {
		return false, nil
	}
	if ended, err = s.DB.SessionEnded(ctx, id); err == nil && !ended {
		s.known.Note(id, stamp)
	}
	return ended, err
}
