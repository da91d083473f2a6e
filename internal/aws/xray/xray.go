// Package xray tells the tracing daemon beside a Lambda function what an activation spends its time
// on: one subsegment for each thing that package engine traces, under the segment that Lambda has
// made for the invocation. What it sends is best effort and costs a datagram: no daemon, no sampled
// trace or a lost datagram change nothing for the run.
//
// It sends names and times and whether something failed, never an error's text, an argument or a
// prompt, which may be anything.
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

// ContextKey is where the Lambda runtime puts the trace header of an invocation into its context.
const ContextKey = "x-amzn-trace-id"

// header comes before every document.
const header = `{"format":"json","version":1}` + "\n"

// maxName is what the daemon takes.
const maxName = 200

var _ engine.Tracer = (*Tracer)(nil)

// Tracer sends subsegments. Safe for concurrent use.
type Tracer struct {
	daemon string
	now    func() time.Time
	random func([]byte)

	mu   sync.Mutex
	conn net.Conn
}

// New sends to the daemon at address, which is HOST:PORT or several with the protocol before each,
// as AWS_XRAY_DAEMON_ADDRESS has it. Random fills ids.
func New(address string, now func() time.Time, random func([]byte)) *Tracer {
	return &Tracer{daemon: datagrams(address), now: now, random: random}
}

// datagrams is the address for UDP.
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

// place is where in which trace something happens.
type place struct{ trace, parent string }

// inside is the key of the place of what is traced within something traced.
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

// where says what the next subsegment belongs to; nothing if the trace is not sampled.
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

// subsegment is the document of the daemon.
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

// cleaned has only characters that the daemon takes in a name.
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
