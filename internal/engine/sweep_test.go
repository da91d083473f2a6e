package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
)

// halfway is an index that fails behind what it has moved.
type halfway struct{ moved []engine.Wakeup }

var errHalfway = errors.New("the second shard did not answer")

func (h halfway) TakeOverdue(context.Context, int64, int64, int) ([]engine.Wakeup, error) {
	return h.moved, errHalfway
}

// mailbox keeps what was sent.
type mailbox struct{ sent []engine.Wakeup }

func (m *mailbox) Send(_ context.Context, w engine.Wakeup, _ time.Duration) error {
	m.sent = append(m.sent, w)
	return nil
}

func TestASweepThatFailsHalfwayWakesWhatItHasMoved(t *testing.T) {
	moved := []engine.Wakeup{{Tenant: "t", Thread: "thr_a"}, {Tenant: "t", Thread: "thr_b"}}
	var sent mailbox
	err := engine.Sweep(t.Context(), halfway{moved}, &sent, enginetest.AtMilli(1000), time.Minute)
	if !errors.Is(err, errHalfway) || !slices.Equal(sent.sent, moved) {
		t.Errorf("sent %v, %v", sent.sent, err)
	}
}
