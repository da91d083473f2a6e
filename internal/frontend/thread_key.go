package frontend

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// KeyedThread is the id of the conversation that a caller calls key. It follows from tenant and
// key, so a crash can't leave out a record of the mapping. Ids made of idempotency
// keys and random ids can't collide with it.
func KeyedThread(tenant, key string) string {
	domain := sha256.Sum256([]byte("thread_key"))
	sum := sha256.Sum256([]byte(string(domain[:]) + tenant + "\x00" + key))
	return core.ThreadID(strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:24])
}

func readThreadKey(key string) error {
	switch {
	case len(key) > maxKey:
		return refusal.New(refusal.CodeInvalid, "thread_key is longer than %d bytes", maxKey)
	case !utf8.ValidString(key) || strings.ContainsRune(key, 0):
		return refusal.New(refusal.CodeInvalid, "thread_key must be text without NUL characters")
	}
	return nil
}

// startKeyed starts the next run in the conversation of a caller's key, and creates the
// conversation if necessary. Each attempt is one compare-and-set: of two concurrent first starts,
// one creates the thread and the other finds its open run.
//
//	start "chat-7" ── read: none ── create: refused ── read: open ── run_open, or a message
//	start "chat-7" ── read: none ── create: done
func (f *Frontend) startKeyed(ctx context.Context, c Caller, key string, b beginning) (Started, error) {
	thread := KeyedThread(c.Tenant, key)
	if s, known, err := f.known(ctx, c, b); known || err != nil {
		return s, err
	}
	head, err := f.Load(ctx, c.Tenant, thread)
	if errors.Is(err, engine.ErrNotFound) {
		var s Started
		s, head, err = f.createKeyed(ctx, c, thread, b)
		if !errors.Is(err, errMoved) {
			return s, err
		}
		err = nil
	}
	if err != nil {
		return Started{}, err
	}
	return f.goOn(ctx, c, head, b)
}

// createKeyed stores the first run of a conversation. [errMoved], with the head that is there, if
// another start was first.
func (f *Frontend) createKeyed(ctx context.Context, c Caller, thread string, b beginning) (Started, core.Head, error) {
	leave, err := f.room(ctx, c, b, 1)
	if err != nil {
		return Started{}, core.Head{}, err
	}
	defer leave()
	head, err := f.newHead(ctx, c, thread, b)
	if err != nil {
		return Started{}, core.Head{}, err
	}
	head.Run = core.RunID(thread, 0)
	req := engine.StartRequest{Head: head, Key: f.key(c, b.key, b.record, head.Run, b.digest), Due: f.due(), Wake: &engine.Delay{}}
	w, err := write(ctx, f, req.Key != nil, func() (engine.Written, error) { return f.Store.Start(ctx, req) })
	return f.placed(ctx, c, b, head, w, err)
}

// ThreadByKey finds the conversation that the caller calls key. [refusal.CodeThreadNotFound] if
// nothing was started under it.
func (f *Frontend) ThreadByKey(ctx context.Context, c Caller, key string) (wire.Thread, error) {
	if err := readThreadKey(key); err != nil {
		return wire.Thread{}, err
	}
	if key == "" {
		return wire.Thread{}, refusal.New(refusal.CodeInvalid, "key is missing; send the thread_key with which the conversation was started")
	}
	t, err := f.Thread(ctx, c, KeyedThread(c.Tenant, key))
	t.Key = key
	return t, err
}

// maxMessageID is how many bytes a caller's own message id may have.
const maxMessageID = 128

// named gives the input the id that its sender chose. In a conversation the id makes the request
// idempotent, as an idempotency key does, and a request has one of the two: each is one record of
// one write. thread is empty where the conversation is new and has no key.
func (b beginning) named(thread, id string) (beginning, error) {
	switch {
	case id == "":
		return b, nil
	case len(id) > maxMessageID:
		return b, refusal.New(refusal.CodeInvalid, "message_id is longer than %d bytes", maxMessageID)
	case !withoutControls(id):
		return b, refusal.New(refusal.CodeInvalid, "message_id must be printable text")
	case thread != "" && strings.HasPrefix(id, "msg_"+strings.TrimPrefix(thread, "thr_")+"_"):
		return b, refusal.New(refusal.CodeInvalid, "message_id has the form of an id that the server generates; choose another")
	}
	b.messageID = id
	if thread == "" {
		return b, nil
	}
	if b.key != "" {
		return b, refusal.New(refusal.CodeInvalid, "in a conversation, message_id makes the request idempotent; omit the Idempotency-Key or the message_id")
	}
	b.key = messageKey(thread, id)
	b.record = b.key
	return b, nil
}

// messageKeys begins the names of the records of message ids.
const messageKeys = "message_id:"

func messageKey(thread, id string) string { return messageKeys + thread + ":" + id }

// messageRecord says that the first input of a new thread has the id that its sender gave it, so
// that no later one has it too; nil without one.
func (f *Frontend) messageRecord(c Caller, head core.Head, b beginning) *engine.Key {
	if b.messageID == "" {
		return nil
	}
	key := messageKey(head.Thread, b.messageID)
	return f.key(c, key, key, head.Run, b.digest)
}

func withoutControls(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}
