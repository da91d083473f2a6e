package frontend

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/ask"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runinput"
	"github.com/dormouse-dev/dormouse/internal/frontend/runview"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// startable is the version that a new run starts with.
func (f *Frontend) startable(ctx context.Context, tenant, name string) (engine.Definition, error) {
	if reason, cannot := f.Missing()[name]; cannot {
		e := refusal.New(refusal.CodeAgentUnavailable, "agent %s can't start now: %s", name, reason)
		e.RetryAfter = agentPause
		return engine.Definition{}, e
	}
	return f.Current(ctx, tenant, name)
}

// agentPause is the Retry-After of a start that is refused because its agent is unavailable.
const agentPause = 30 * time.Second

// Current is the deployed version of an agent. [refusal.CodeAgentNotFound] if there is none.
func (f *Frontend) Current(ctx context.Context, tenant, name string) (engine.Definition, error) {
	if len(name) > journal.MaxID {
		return engine.Definition{}, refusal.New(refusal.CodeAgentNotFound, "no agent has a name of %d bytes; check the name", len(name))
	}
	def, err := storecall.Try(ctx, f.Clock, func() (engine.Definition, error) { return f.Catalog.Current(ctx, tenant, name) })
	if errors.Is(err, engine.ErrNotFound) {
		return def, refusal.New(refusal.CodeAgentNotFound, "no agent named %q is deployed; check the name", name)
	}
	return def, err
}

// Started is what a start or a message came to.
type Started struct {
	Run wire.Run
	New bool // stored by this request; false: it had been stored before, under the same key
}

// beginning is a request for a run or a message, checked.
type beginning struct {
	agent    string // empty: that of the thread's last run
	key      string // the caller's; empty for none
	record   string // the key as it is kept on a thread, apart for each sort of request
	digest   string
	nonce    string // of this request: its own retries are known by it
	parts    json.RawMessage
	metadata json.RawMessage
	narrow   json.RawMessage
	notify   string // the digest of targets
	noMemory bool
	retryOf  string
	on       core.OnPending
	message  bool // an open run may have it
	kept     bool // by a run that waits, which goes on waiting
	ask      *Asked

	targets json.RawMessage // under notify; nil if they are stored already

	given given // what the request supplies for the run that it starts

	messageID string // as the caller named its input; empty: it has no name
}

// refuses says that a run which waits for something else doesn't take it.
func (b beginning) refuses() bool { return b.on == core.PendingRefuse && !b.kept }

// fits reports whether an open run could take the request for a new run as a message.
func (b beginning) fits(h core.Head) bool {
	return b.agent == h.Agent && b.metadata == nil && b.narrow == nil && b.notify == "" && !b.noMemory && b.given.digest == ""
}

// Start starts a run. With a key it does so once: a repeat with the same content returns the run
// that was started, one with other content [refusal.CodeIdempotencyMismatch]. If the thread's run
// is not done, it returns [refusal.CodeRunOpen], unless the request says what to do with that run;
// the request is then a message to it.
func (f *Frontend) Start(ctx context.Context, c Caller, key string, req wire.StartRequest) (Started, error) {
	return f.StartPushed(ctx, c, key, req, "")
}

// StartPushed is Start for a task of A2A: push notifications go to the endpoints of the group.
func (f *Frontend) StartPushed(ctx context.Context, c Caller, key string, req wire.StartRequest, group string) (Started, error) {
	b, err := f.readStart(c, key, req, group)
	if err != nil {
		return Started{}, err
	}
	thread := req.ThreadID
	if req.ThreadKey != "" {
		thread = KeyedThread(c.Tenant, req.ThreadKey)
	}
	if b, err = b.named(thread, req.MessageID); err != nil {
		return Started{}, err
	}
	switch {
	case req.ThreadKey != "":
		return f.startKeyed(ctx, c, req.ThreadKey, b)
	case req.ThreadID != "":
		return f.startOn(ctx, c, req.ThreadID, b)
	}
	return f.startThread(ctx, c, b)
}

func (f *Frontend) readStart(c Caller, key string, req wire.StartRequest, group string) (beginning, error) {
	if req.Agent == "" {
		return beginning{}, refusal.New(refusal.CodeInvalid, "agent is missing")
	}
	if req.ThreadKey != "" && req.ThreadID != "" {
		return beginning{}, refusal.New(refusal.CodeInvalid, "thread_id and thread_key are both set; send one of them")
	}
	if err := readThreadKey(req.ThreadKey); err != nil {
		return beginning{}, err
	}
	b, err := f.begin(c, "start", key, req.OnPending, req.Input)
	if err != nil {
		return b, err
	}
	b.agent = req.Agent
	b.noMemory = req.Memory != nil && !*req.Memory
	if b.metadata, err = f.readMetadata(req.Metadata); err != nil {
		return b, err
	}
	if b.narrow, err = f.readPermissions(req.Permissions); err != nil {
		return b, err
	}
	if b.notify, b.targets, err = readNotify(req.Notify, group); err != nil {
		return b, err
	}
	if b.given, err = readGiven(req.Supplied); err != nil {
		return b, err
	}
	if req.MessageID != "" && key == "" {
		req.Supplied = wire.Supplied{} // a repeat comes with what the client has then
	}
	b.digest, err = digest(req)
	return b, err
}

// begin checks what starts, messages and asks have in common. sort keeps the keys of messages apart
// from those of the others.
func (f *Frontend) begin(c Caller, sort, key, onPending string, input json.RawMessage) (b beginning, err error) {
	on, err := readOnPending(onPending)
	if err != nil {
		return b, err
	}
	if err := readKey(key); err != nil {
		return b, err
	}
	if err := mayUseKey(c, key); err != nil {
		return b, err
	}
	b = beginning{key: key, record: sort + ":" + key, nonce: f.Random.Text(16), on: on}
	if b.parts, err = runinput.Read(input); err != nil {
		return b, refusal.New(refusal.CodeInvalid, "%s", err)
	}
	return b, nil
}

// startThread starts the first run of a new thread. Its id is made of the key, so that the thread
// itself is the record that the start was done.
func (f *Frontend) startThread(ctx context.Context, c Caller, b beginning) (Started, error) {
	thread := core.ThreadID(f.threadBase(c.Tenant, b.key))
	if b.key != "" {
		switch head, err := f.Load(ctx, c.Tenant, thread); {
		case err == nil:
			return f.startedBefore(ctx, c, head, b)
		case !errors.Is(err, engine.ErrNotFound):
			return Started{}, err
		}
	}
	leave, err := f.room(ctx, c, b, 1)
	if err != nil {
		return Started{}, err
	}
	defer leave()
	head, err := f.firstHead(ctx, c, thread, b)
	if err != nil {
		return Started{}, err
	}
	w, err := f.start(ctx, engine.StartRequest{Head: head, Key: f.messageRecord(c, head, b), Due: f.due(), Wake: &engine.Delay{}})
	var taken *engine.KeyTakenError
	switch {
	case err == nil:
		return f.started(ctx, head, w.Woken)
	case errors.As(err, &taken):
		return f.keyTaken(ctx, c, taken.Key, b.digest)
	case !errors.Is(err, engine.ErrRefused):
		return Started{}, err
	case w.Head.Inbox[core.KeyStart].ID == b.nonce, b.key == "":
		return f.started(ctx, head, false) // our own retry: the first try had been stored
	}
	return f.startedBefore(ctx, c, w.Head, b)
}

func (f *Frontend) threadBase(tenant, key string) string {
	if key == "" {
		return f.Random.Text(24)
	}
	sum := sha256.Sum256([]byte(tenant + "\x00" + key))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:24]
}

func (f *Frontend) firstHead(ctx context.Context, c Caller, thread string, b beginning) (core.Head, error) {
	head, err := f.newHead(ctx, c, thread, b)
	head.Run = core.RunID(thread, 0)
	if b.key != "" {
		head.Idem = b.digest
	}
	return head, err
}

// newHead is what first and later runs of a thread have in common. The input is in the inbox. What
// it may refuse comes before what it stores beside the thread.
func (f *Frontend) newHead(ctx context.Context, c Caller, thread string, b beginning) (core.Head, error) {
	def, err := f.startable(ctx, c.Tenant, b.agent)
	if err != nil {
		return core.Head{}, err
	}
	if err := f.MayStart(ctx, c, def); err != nil {
		return core.Head{}, err
	}
	if err := f.mayAsk(ctx, c.Tenant, def, b); err != nil {
		return core.Head{}, err
	}
	if err := f.mayBring(def, b.given); err != nil {
		return core.Head{}, err
	}
	if err := f.inBudget(ctx, c, def); err != nil {
		return core.Head{}, err
	}
	if err := f.putTargets(ctx, c.Tenant, thread, b); err != nil {
		return core.Head{}, err
	}
	if err := f.putGiven(ctx, c.Tenant, thread, b.given); err != nil {
		return core.Head{}, err
	}
	now := f.Now()
	input, err := f.offload(ctx, c.Tenant, thread, core.Signal{Kind: core.SignalStart, ID: b.nonce, Msg: b.messageID, Value: b.parts, By: c.By, Via: c.Via, At: now})
	if err != nil {
		return core.Head{}, err
	}
	head := core.Head{Identity: core.Identity{Tenant: c.Tenant, Thread: thread, Agent: b.agent, Version: def.Digest},
		Status: core.RunCreated, Origin: core.Origin{Metadata: b.metadata, Notify: b.notify, Supplied: b.given.digest, RetryOf: b.retryOf, Born: now, At: now}, Permissions: core.Permissions{Narrow: b.narrow, NoMemory: b.noMemory},
		Calls: map[string]core.Call{}, Waits: core.Waits{TimedOut: map[string]int{}}, Out: map[string]core.Out{},
		Inbox: map[string]core.Signal{core.KeyStart: input}}
	head.Schema = core.SchemaOf(head)
	return head, nil
}

func (f *Frontend) started(ctx context.Context, head core.Head, woken bool) (Started, error) {
	f.wake(ctx, head.Tenant, head.Thread, woken)
	return Started{Run: runview.Begun(head), New: true}, nil
}

// startedBefore answers a start whose thread is there: it is the same start, or the key was used
// for something else.
func (f *Frontend) startedBefore(ctx context.Context, c Caller, head core.Head, b beginning) (Started, error) {
	if head.Idem != b.digest {
		return Started{}, keyMismatch(b.record)
	}
	return f.recorded(ctx, c, core.RunID(head.Thread, 0))
}

// keyMismatch refuses a request that is known by a key, or by the id of its message, and says
// something else now.
func keyMismatch(record string) *refusal.Error {
	if strings.HasPrefix(record, messageKeys) {
		return refusal.New(refusal.CodeIdempotencyMismatch, "this message_id was used before in this conversation, in a different request; use a new one")
	}
	return refusal.New(refusal.CodeIdempotencyMismatch, "the idempotency key was used before with a different body; use a new key")
}

// recorded answers with the run that a key started. Until a worker claims the run, each repeat by
// the caller wakes it again.
func (f *Frontend) recorded(ctx context.Context, c Caller, id string) (Started, error) {
	run, err := f.Run(ctx, c, id)
	if err != nil {
		return Started{}, err
	}
	if run.Status == core.RunCreated.String() {
		f.wake(ctx, c.Tenant, run.ThreadID, false)
	}
	return Started{Run: run}, nil
}

// startOn starts the next run of a thread.
func (f *Frontend) startOn(ctx context.Context, c Caller, thread string, b beginning) (Started, error) {
	head, err := f.LoadThread(ctx, c.Tenant, thread)
	if err != nil {
		return Started{}, err
	}
	if s, known, err := f.known(ctx, c, b); known || err != nil {
		return s, err
	}
	return f.goOn(ctx, c, head, b)
}

// goOn gives the thread its next turn: its open run if there is one and it may have it, else a new
// run.
func (f *Frontend) goOn(ctx context.Context, c Caller, head core.Head, b beginning) (s Started, err error) {
	if head.Agent == ask.Agent {
		return Started{}, noAsk()
	}
	if err := childThread(head); err != nil {
		return Started{}, err
	}
	for n := range lostRaces {
		if head.Open() {
			s, head, err = f.deliver(ctx, c, head, b)
		} else {
			s, head, err = f.follow(ctx, c, head, b)
		}
		if !errors.Is(err, errMoved) {
			return s, err
		}
		if head.End != nil && head.Open() { // it is about to be done
			if err := engine.Sleep(ctx, f.Clock, storecall.FirstPause<<n); err != nil {
				return Started{}, err
			}
			if head, err = f.LoadThread(ctx, c.Tenant, head.Thread); err != nil {
				return Started{}, err
			}
		}
	}
	return Started{}, refusal.Contended()
}

// lostRaces is how often a request is decided again on a head that moved between reading and
// writing.
const lostRaces = 8

// errMoved: the head is not what it was when it was read. Nothing was stored.
var errMoved = errors.New("frontend: the head moved")

// follow stores the run that comes after prior. [errMoved], with the head that is there now, if
// prior is not the thread's finished head any more. A repeat that came in between is known by its
// key, which the store looks at first.
func (f *Frontend) follow(ctx context.Context, c Caller, prior core.Head, b beginning) (Started, core.Head, error) {
	leave, s, known, err := f.roomOnThread(ctx, c, b, 1)
	if known || err != nil {
		return s, prior, err
	}
	defer leave()
	head, err := f.nextHead(ctx, c, prior, b)
	if err != nil {
		return Started{}, prior, err
	}
	w, err := f.start(ctx, engine.StartRequest{Head: head, Prior: &prior, Key: f.key(c, b.key, b.record, head.Run, b.digest),
		Due: f.due(), Wake: &engine.Delay{}})
	return f.placed(ctx, c, b, head, w, err)
}

// placed reads what became of the write that was to store head, the run of b: its run, the one of
// an earlier request with b's key, or [errMoved] with the head that is in its place. The head is of
// use with no other error.
func (f *Frontend) placed(ctx context.Context, c Caller, b beginning, head core.Head, w engine.Written, err error) (Started, core.Head, error) {
	var taken *engine.KeyTakenError
	switch {
	case err == nil, errors.Is(err, engine.ErrRefused) && w.Head.Inbox[core.KeyStart].ID == b.nonce:
		s, err := f.started(ctx, head, w.Woken)
		return s, head, err
	case errors.As(err, &taken):
		s, err := f.keyTaken(ctx, c, taken.Key, b.digest)
		return s, head, err
	case errors.Is(err, engine.ErrRefused):
		return Started{}, w.Head, errMoved
	}
	return Started{}, head, err
}

// nextHead takes the place of prior. What never goes back goes on from it.
func (f *Frontend) nextHead(ctx context.Context, c Caller, prior core.Head, b beginning) (core.Head, error) {
	b.agent = cmp.Or(b.agent, prior.Agent)
	h, err := f.newHead(ctx, c, prior.Thread, b)
	if err != nil {
		return h, err
	}
	next := prior.Succeed(h.Version, h.Inbox[core.KeyStart], h.Born)
	next.Agent, next.Metadata, next.Narrow, next.NoMemory, next.RetryOf = h.Agent, h.Metadata, h.Narrow, h.NoMemory, h.RetryOf
	next.Notify, next.Supplied, next.Schema = h.Notify, h.Supplied, h.Schema
	return next, nil
}
