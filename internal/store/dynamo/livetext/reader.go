package livetext

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/engine"
)

const (
	// What is known of a head or was heard in a thread is used for so long. Readers look at
	// both every second.
	fresh = 3 * time.Second

	// A thread that no one has read for so long is forgotten if there are mostHeard.
	heardLife = time.Minute
	mostHeard = 100

	// readTime limits the reads of one look: it holds up the committed events.
	readTime = time.Second

	// mostPages is how many pages one look reads, of up to 1 MB each.
	mostPages = 4
)

// hearing is what this process has read of a thread: the newest attempt, whole.
type hearing struct {
	last    position // of the items that were read
	any     bool     // there were some
	speech  engine.Speech
	text    strings.Builder
	thought strings.Builder
	gap     bool // something is missing: no more is taken
	looked  time.Time
	asked   time.Time // the table
}

// Spoken implements [frontend.Live]. It reads the items that were added since the last look, unless
// the head said in the last look that no step is in progress. A read that fails is no reason to
// take back what was shown before.
func (t *Text) Spoken(ctx context.Context, tenant, thread string) (engine.Speech, bool) {
	at := place{tenant, thread}
	h, reads := t.look(at)
	if reads {
		t.read(ctx, at, h)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return h.spoken()
}

// look returns what was heard in a thread, and whether there may be more.
func (t *Text) look(at place) (h *hearing, reads bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.o.Clock.Now()
	h = t.heard[at]
	if h == nil || now.Sub(h.looked) > fresh {
		t.forgetHeard(now)
		h = &hearing{}
		t.heard[at] = h
	}
	h.looked = now
	k := t.heads[at]
	if idle := !k.works && now.Sub(k.at) <= fresh; !h.asked.IsZero() && (idle || now.Sub(h.asked) < t.o.Pause/2) {
		return h, false
	}
	h.asked = now
	return h, true
}

func (t *Text) forgetHeard(now time.Time) {
	if len(t.heard) < mostHeard {
		return
	}
	for at, h := range t.heard {
		if now.Sub(h.looked) > heardLife || len(t.heard) >= mostHeard {
			delete(t.heard, at)
		}
	}
}

func (h *hearing) spoken() (engine.Speech, bool) {
	s := h.speech
	s.Text, s.Reasoning = h.text.String(), h.thought.String()
	return s, h.any
}

// read adds the items of a thread that are new. The first time, it finds the newest, and then reads
// all that were written by the same step.
func (t *Text) read(ctx context.Context, at place, h *hearing) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	t.mu.Lock()
	after, known := h.last.String(), h.any
	t.mu.Unlock()
	if !known {
		out, err := t.query(ctx, at, "", func(in *dynamodb.QueryInput) { in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(1) })
		if err != nil || len(out.Items) == 0 {
			return
		}
		newest, _, ok := readItem(out.Items[0])
		if !ok {
			return
		}
		after = newest.step()
	}
	var next item
	for range mostPages {
		out, err := t.query(ctx, at, after, func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = next })
		if err != nil {
			return
		}
		t.mu.Lock()
		for _, it := range out.Items {
			h.take(at, it)
		}
		t.mu.Unlock()
		if next = out.LastEvaluatedKey; len(next) == 0 {
			return
		}
	}
}

// query reads consistently: a reader must not find less than it was shown before.
func (t *Text) query(ctx context.Context, at place, after string, how func(*dynamodb.QueryInput)) (*dynamodb.QueryOutput, error) {
	in := &dynamodb.QueryInput{TableName: &t.o.Table, KeyConditionExpression: aws.String("#pk = :pk"), ConsistentRead: aws.Bool(true),
		ExpressionAttributeNames: map[string]string{"#pk": attrPK}, ExpressionAttributeValues: item{":pk": text(at.partition())}}
	if after != "" {
		in.KeyConditionExpression = aws.String("#pk = :pk AND #sk > :after")
		in.ExpressionAttributeNames["#sk"], in.ExpressionAttributeValues[":after"] = attrSK, text(after)
	}
	how(in)
	return t.o.API.Query(ctx, in, once)
}

// take adds an item, unless it was taken or belongs to an earlier step: readers of one thread may
// read at once.
func (h *hearing) take(at place, it item) {
	p, s, ok := readItem(it)
	if !ok || h.any && !h.last.before(p) {
		return
	}
	a := engine.Attempt{Tenant: at.tenant, Thread: at.thread, Run: s.Run, Turn: s.Turn, Step: s.Step, Epoch: p.epoch, Restart: s.Restart, Seq: p.seq, Event: s.Event}
	if !h.any || s.First || h.speech.Attempt != a {
		*h = hearing{looked: h.looked, asked: h.asked, speech: engine.Speech{Attempt: a}}
	}
	h.last, h.any = p, true
	h.speech.At = time.UnixMilli(s.At)
	h.gap = h.gap || !extend(&h.text, s.From, s.Text) || !extend(&h.thought, s.ThoughtFrom, s.Thought)
	for _, n := range s.Notes {
		n := n.engine()
		h.speech.Notes = append(slices.DeleteFunc(slices.Clone(h.speech.Notes), replacedBy(n)), n)
	}
}

func (p position) before(q position) bool { return p.String() < q.String() }

// extend adds text that begins at a byte of what is there; false if that leaves a gap.
func extend(all *strings.Builder, from int, text string) bool {
	if known := all.Len() - from; known >= 0 {
		all.WriteString(text[min(known, len(text)):])
		return true
	}
	return false
}

// Watch implements [frontend.Live]. The signals are the times to look again, while a step is in
// progress.
func (t *Text) Watch(tenant, thread string) (changed <-chan struct{}, stop func()) {
	w := &watcher{clock: t.o.Clock, pause: t.o.Pause, signal: make(chan struct{}, 1), works: func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.heads[place{tenant, thread}].works
	}}
	w.wait()
	return w.signal, w.end
}

// watcher signals in equal intervals.
type watcher struct {
	clock  engine.Clock
	pause  time.Duration
	works  func() bool
	signal chan struct{}

	mu   sync.Mutex
	over bool
	stop func()
}

func (w *watcher) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.stop = w.clock.AfterFunc(w.pause, w.tick)
	}
}

func (w *watcher) tick() {
	if w.works() {
		select {
		case w.signal <- struct{}{}:
		default:
		}
	}
	w.wait()
}

func (w *watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.stop()
}
