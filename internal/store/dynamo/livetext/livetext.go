// Package livetext carries live text from the process that does a step to the processes that show
// runs, through short-lived items of the table. It costs nothing while no one watches:
//
//	api      sends a reader to a stream ──> a mark in the head: watched until T
//	step     claims, commits, looks for a cancel: each answer has the head, with the mark
//	step     the model speaks: an item after each pause, if the head is marked
//	stream   reads the items of a run in progress, then the head, as it does anyway
//
// The items have a separate partition and a time to live. They are not durable: what is lost,
// or comes late, the commit delivers. No item is read or written for anything else.
package livetext

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// StreamLife is how long a stream lasts where the table carries live text. Its reader opens it
// again, and the head is marked again.
const StreamLife = 2 * time.Minute

// A head is marked until a stream is over that was opened in the last second of its ticket, and for
// a minute more. One whose mark has lost less than that minute is not marked again, so that many
// readers of a thread cost one write a minute.
const (
	ticketLife  = time.Minute
	spareLife   = time.Minute
	watchedLife = ticketLife + StreamLife + spareLife
)

// markTime limits the request that marks a head: it holds up a redirect.
const markTime = time.Second

// known heads are kept for as long as a mark may last.
const (
	knownLife = watchedLife
	mostKnown = 1000
)

// API is the part of the SDK's client that a [Text] uses.
type API interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Options configure a [Text]. All are required.
type Options struct {
	API   API
	Table string
	Clock engine.Clock
	Pause time.Duration // between two items of one attempt, and between two reads of them
}

// Text is the live text that this process writes, reads or both. It is safe for concurrent use.
type Text struct {
	o Options

	mu     sync.Mutex
	heads  map[place]known
	spoken map[place]*attempt // by the step of this process
	heard  map[place]*hearing // by its readers
}

var (
	_ engine.Live   = (*Text)(nil)
	_ frontend.Live = (*Text)(nil)
)

type place struct{ tenant, thread string }

// known is what the last head of a thread said that this process has seen.
type known struct {
	run      string
	done     bool
	works    bool // a step is in progress
	watched  time.Time
	at       time.Time
	position position // of the last item that this process has begun to write
}

// New returns a text. It makes no request.
func New(o Options) *Text {
	return &Text{o: o, heads: map[place]known{}, spoken: map[place]*attempt{}, heard: map[place]*hearing{}}
}

// Seen takes note of a head that a request returned: it is the Seen of [dynamo.Options]. What the
// model said before its run was watched is written now.
func (t *Text) Seen(h core.Head, watched time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := place{h.Tenant, h.Thread}
	k := t.heads[at]
	k.run, k.done, k.works, k.watched, k.at = h.Run, h.Status == core.RunDone, h.Status == core.RunRunning && h.Lease != 0, watched, t.o.Clock.Now()
	t.heads[at] = k
	t.forget()
	if a := t.spoken[at]; a != nil {
		t.schedule(a)
	}
}

// forget drops heads that were not seen for long.
func (t *Text) forget() {
	if len(t.heads) <= mostKnown {
		return
	}
	old := t.o.Clock.Now().Add(-knownLife)
	for at, k := range t.heads {
		if t.spoken[at] == nil && (k.at.Before(old) || len(t.heads) > mostKnown) {
			delete(t.heads, at)
		}
	}
}

// Marker returns a function that is called when a reader is sent to a stream of a run or a thread.
// It marks the head with mark, which is [dynamo.Store.MarkWatched]. If that fails, the reader has
// no live text until the stream is opened again.
func (t *Text) Marker(mark func(ctx context.Context, tenant, thread string, until time.Time) error) func(ctx context.Context, tenant, id string) {
	return func(ctx context.Context, tenant, id string) {
		thread, isRun := core.ThreadOf(id)
		if !isRun {
			thread = id
		}
		now := t.o.Clock.Now()
		if !t.needsMark(place{tenant, thread}, id, now) {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, markTime)
		defer cancel()
		_ = mark(ctx, tenant, thread, now.Add(watchedLife))
	}
}

// needsMark decides by the head that this process has seen last. A run that was done says no more.
func (t *Text) needsMark(at place, id string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.heads[at]
	return !(k.done && k.run == id) && k.watched.Before(now.Add(watchedLife-spareLife))
}
