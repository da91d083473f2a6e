// Package xray sends the duration of an activation's operations to the tracing daemon of a Lambda
// function: one subsegment for each operation that package engine traces, under the segment of the
// invocation. It is best effort and costs one datagram: a missing daemon, a trace that is not
// sampled and a lost datagram do not affect the run.
//
// It sends names, times and whether an operation failed, but no error texts, arguments or prompts,
// which may contain anything.
package xray

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

// ContextKey is the key under which the Lambda runtime stores the trace header of an invocation in
// its context.
const ContextKey = "x-amzn-trace-id"

// header precedes every document.
const header = `{"format":"json","version":1}` + "\n"

// maxName is the daemon's limit.
const maxName = 200

var _ engine.Tracer = (*Tracer)(nil)

// Tracer sends subsegments. It is safe for concurrent use.
type Tracer struct {
	daemon string
	now    func() time.Time
	random func([]byte)

	mu   sync.Mutex
	conn net.Conn
}

// New returns a tracer that sends to the daemon at address, in the form of AWS_XRAY_DAEMON_ADDRESS:
// HOST:PORT, or several with a protocol before each. random fills ids.
func New(address string, now func() time.Time, random func([]byte)) *Tracer {
	return &Tracer{daemon: datagrams(address), now: now, random: random}
}

// datagrams returns the UDP address.
func datagrams(address string) string {
	for one := range strings.FieldsSeq(address) {
		if to, ok := strings.CutPrefix(one, "udp:"); ok {
			return to
		}
		if !strings.HasPrefix(one, "tcp:") {
			return one
		}
	}
	return ""
}

// place is a position in a trace.
type place struct{ trace, parent string }

// inside is the context key of the enclosing place.
type inside struct{}

// Begin implements [engine.Tracer].
func (t *Tracer) Begin(ctx context.Context, name string) (context.Context, func(error)) {
	at, ok := where(ctx)
	if !ok || t.daemon == "" {
		return ctx, func(error) {}
	}
	raw := make([]byte, 8)
	t.random(raw)
	id, began := hex.EncodeToString(raw), t.now()
	return context.WithValue(ctx, inside{}, place{at.trace, id}), func(err error) {
		t.send(subsegment{Name: cleaned(name), ID: id, TraceID: at.trace, ParentID: at.parent, Type: "subsegment",
			Start: seconds(began), End: seconds(t.now()), Fault: err != nil})
	}
}

// where returns the place of the next subsegment, or false if the trace is not sampled.
func where(ctx context.Context) (place, bool) {
	if at, ok := ctx.Value(inside{}).(place); ok {
		return at, true
	}
	text, _ := ctx.Value(ContextKey).(string)
	var at place
	sampled := false
	for field := range strings.SplitSeq(text, ";") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(field), "="); name {
		case "Root":
			at.trace = value
		case "Parent":
			at.parent = value
		case "Sampled":
			sampled = value == "1"
		}
	}
	return at, sampled && at.trace != "" && at.parent != ""
}

// subsegment is the daemon's document.
type subsegment struct {
	Name     string  `json:"name"`
	ID       string  `json:"id"`
	TraceID  string  `json:"trace_id"`
	ParentID string  `json:"parent_id"`
	Type     string  `json:"type"`
	Start    float64 `json:"start_time"`
	End      float64 `json:"end_time"`
	Fault    bool    `json:"fault,omitempty"`
}

func (t *Tracer) send(s subsegment) {
	text, err := json.Marshal(s)
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn == nil {
		if t.conn, err = net.Dial("udp", t.daemon); err != nil {
			t.conn = nil
			return
		}
	}
	_, _ = t.conn.Write(append([]byte(header), text...))
}

// cleaned removes the characters that the daemon does not accept in a name.
func cleaned(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune(" _.:/%&#=+-@", r) {
			return r
		}
		return '_'
	}, name)
	return clean[:min(len(clean), maxName)]
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
