package engine

import (
	"strings"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// heard records when a model began its turn and its output so far, which is all that remains of the
// turn if a cancel stops it. Safe for concurrent use.
type heard struct {
	clock Clock
	next  func(Delta) // also gets every delta

	mu    sync.Mutex
	first int64
	said  strings.Builder
	full  bool // no more is kept: what came next would leave a gap
}

// heardBytes bounds what is kept of a turn that may be cut off.
const heardBytes = 256 << 10

// take is [Prompt.Say].
func (h *heard) take(d Delta) {
	h.keep(d)
	h.next(d)
}

func (h *heard) keep(d Delta) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case d.Restart:
		h.said.Reset()
		h.full = false
		return
	case d.Text == "":
		return
	case h.first == 0:
		h.first = h.clock.Now().UnixMilli()
	}
	if h.full = h.full || h.said.Len()+len(d.Text) > heardBytes; d.Kind == core.TextPart && !h.full {
		h.said.WriteString(d.Text)
	}
}

// firstAt is when the model's first words came; 0 if none did.
func (h *heard) firstAt() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.first
}

// text is what the model has said, whole characters.
func (h *heard) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	whole := h.said.String()
	return strings.ToValidUTF8(whole[:wholeCharacters([]byte(whole))], "\ufffd")
}
