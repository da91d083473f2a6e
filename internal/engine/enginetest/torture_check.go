package enginetest

import (
	"errors"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// tortureCheck holds a store to what its callers wrote down.
type tortureCheck struct {
	*storeTest
	queue   TortureStore
	told    toldAll
	threads map[string]*tortureThread
}

// tortureThread is what is found of a thread.
type tortureThread struct {
	head   core.Head
	stamps map[int64]bool // of its segments
	// of inputs and signals: how often they are in the journal or the inbox
	ids  map[string]int
	keys map[string]int // likewise the inbox keys, of decisions only
}

func (t *tortureCheck) run() {
	t.Helper()
	t.threads = map[string]*tortureThread{}
	for _, line := range t.told.of(toldBroken) {
		t.Errorf("%s: thread %s: %s", line.By, line.Thread, line.Text)
	}
	for _, what := range []string{toldStart, toldClaim, toldCommit, toldSignal, toldRefused} {
		for _, line := range t.told.of(what) {
			t.heldTo(line)
		}
	}
	t.onlyOnce()
	t.oneOwner()
	t.oneRunOfAKey()
	t.nobodyForgotten()
	t.post()
}

// thread reads a thread, once; nil if it is not there.
func (t *tortureCheck) thread(id string) *tortureThread {
	t.Helper()
	if th, read := t.threads[id]; read {
		return th
	}
	t.threads[id] = nil
	head, err := t.store.Load(t.Context(), tenant, id)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	t.must(err)
	segments, err := t.store.Segments(t.Context(), tenant, id, 1, head.Seq)
	t.must(err)
	if err := core.CheckChain(head, 1, segments); err != nil {
		t.Error(err)
	}
	th := &tortureThread{head: head, stamps: map[int64]bool{}, ids: map[string]int{}, keys: map[string]int{}}
	for _, s := range segments {
		th.stamps[int64(s.W)] = true
		for _, m := range s.Messages {
			if m.Role == core.RoleUser {
				th.count(m.CallID, m.Text())
			}
		}
	}
	for key, signal := range head.Inbox {
		th.count(key, signal.ID)
	}
	t.threads[id] = th
	return th
}

func (th *tortureThread) count(key, id string) {
	th.ids[id]++
	if _, decides := core.SuspensionSeq(key); decides {
		th.keys[key]++
	}
}

// heldTo looks for what one line tells: it is there, and the head is not behind it.
func (t *tortureCheck) heldTo(line told) {
	t.Helper()
	th := t.thread(line.Thread)
	if th == nil {
		if line.What != toldRefused {
			t.Errorf("%s reported that it %s on %s, which is missing: %+v", line.By, line.What, line.Thread, line)
		}
		return
	}
	if at := positionOf(th.head); at.behind(line.Head) {
		t.Errorf("%s reported %+v in thread %s, whose head is behind that: %+v", line.By, line.Head, line.Thread, at)
	}
	switch line.What {
	case toldStart:
		t.wantTimes(line, th.ids[line.ID], 1)
		t.runIsThere(line, th)
	case toldSignal:
		t.wantTimes(line, th.ids[line.ID], 1)
	case toldRefused:
		t.wantTimes(line, th.ids[line.ID], 0)
	case toldCommit:
		if !th.stamps[line.Stamp] {
			t.Errorf("%s reported that it committed %d on thread %s; the journal does not have it", line.By, line.Stamp, line.Thread)
		}
	}
}

func (t *tortureCheck) wantTimes(line told, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s reported that it %s %s on thread %s; journal and inbox have it %d times", line.By, line.What, line.ID, line.Thread, got)
	}
}

func (t *tortureCheck) runIsThere(line told, th *tortureThread) {
	t.Helper()
	if th.head.Run == line.Run {
		return
	}
	if _, err := t.store.Archived(t.Context(), tenant, line.Run); err != nil {
		t.Errorf("%s reported that it started %s: %v", line.By, line.Run, err)
	}
}

// onlyOnce checks that a thread has nothing twice that was sent once, even if the store didn't
// answer, and that no suspension has two decisions.
func (t *tortureCheck) onlyOnce() {
	t.Helper()
	for id, th := range t.threads {
		if th == nil {
			continue
		}
		for text, n := range th.ids {
			if n > 1 {
				t.Errorf("thread %s has %s %d times", id, text, n)
			}
		}
		for sus, n := range th.keys {
			if n > 1 {
				t.Errorf("thread %s has %d decisions on %s", id, n, sus)
			}
		}
	}
}

// oneOwner: an epoch was given out once, of the commits on one revision one was answered with
// success, and so was of the decisions on one suspension.
func (t *tortureCheck) oneOwner() {
	t.Helper()
	type key struct {
		what, thread, sus string
		number            int64
	}
	seen := map[key]told{}
	once := func(k key, line told) {
		if before, twice := seen[k]; twice {
			t.Errorf("%s and %s reported the same for thread %s: %+v and %+v", before.By, line.By, line.Thread, before, line)
		}
		seen[k] = line
	}
	for _, line := range t.told.of(toldClaim) {
		once(key{what: line.What, thread: line.Thread, number: line.Head.Epoch}, line)
	}
	for _, line := range t.told.of(toldCommit) {
		once(key{what: line.What, thread: line.Thread, number: line.Head.Rev}, line)
	}
	for _, line := range t.told.of(toldSignal) {
		if _, decides := core.SuspensionSeq(line.Key); decides {
			once(key{what: line.What, thread: line.Thread, sus: line.Key}, line)
		}
	}
	for _, line := range t.told.of(toldStart) {
		once(key{what: line.What, thread: line.Thread, sus: line.Run}, line)
	}
}

// oneRunOfAKey checks that all callers with the same key got the same run, and that the store still
// has that run for the key.
func (t *tortureCheck) oneRunOfAKey() {
	t.Helper()
	for _, what := range []string{toldStart, toldTaken} {
		for _, line := range t.told.of(what) {
			if line.Key == "" {
				continue
			}
			used, err := t.store.Used(t.Context(), tenant, line.Key)
			if err != nil || used.Run != line.Run {
				t.Errorf("%s reported that the key %q belongs to %s; now it is %q (%v)", line.By, line.Key, line.Run, used.Run, err)
			}
		}
	}
}

// nobodyForgotten checks that each open run has a due time for the sweep, or waits for an answer
// and nothing else.
func (t *tortureCheck) nobodyForgotten() {
	t.Helper()
	for id, th := range t.threads {
		if th == nil || th.head.Due != 0 {
			continue
		}
		waits := th.head.Status == core.RunWaiting && th.head.Calls["c1"].Status == core.CallSuspended
		if len(th.head.Inbox) > 0 || th.head.Open() && !waits {
			t.Errorf("nothing will ever wake thread %s: %+v", id, th.head)
		}
	}
}

// queueLimit is how long the queue may take to deliver all its messages.
const queueLimit = 10 * time.Second

// post checks that each message that was sent and not removed is in the queue once, and no other.
func (t *tortureCheck) post() {
	t.Helper()
	acking, acked, left := map[string]bool{}, map[string]int{}, map[string]bool{}
	for _, line := range t.told.of(toldAcking) {
		acking[line.ID] = true
	}
	for _, line := range t.told.of(toldAcked) {
		if acked[line.ID]++; acked[line.ID] > 1 {
			t.Errorf("%s took the message %s out of the queue, as another worker did", line.By, line.ID)
		}
	}
	for _, line := range t.told.of(toldSent) {
		if !acking[line.ID] {
			left[line.ID] = true
		}
	}
	found := t.drainQueue(left)
	for id, n := range found {
		if n > 1 || acked[id] > 0 {
			t.Errorf("the message %s was taken out %d times before, and is %d times in the queue", id, acked[id], n)
		}
	}
	for id := range left {
		t.Errorf("the message %s was sent, and is not in the queue", id)
	}
}

// drainQueue empties the queue: everything in it is visible after a while. It strikes what it finds
// from left.
func (t *tortureCheck) drainQueue(left map[string]bool) map[string]int {
	t.Helper()
	found := map[string]int{}
	for end := time.Now().Add(queueLimit); time.Now().Before(end); {
		got, err := t.queue.Receive(t.Context(), 50)
		t.must(err)
		for _, d := range got {
			if d.Tenant == postTenant {
				found[d.Thread]++
				delete(left, d.Thread)
			}
			t.must(t.queue.Ack(t.Context(), d))
		}
		if len(got) > 0 {
			continue
		}
		if len(left) == 0 {
			break
		}
		<-time.After(10 * time.Millisecond) // before it is asked again
	}
	return found
}
