package warm_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine/warm"
)

// history is a journal that grows.
type history struct {
	segments []core.Segment
	stamp    core.Stamp // the last that was given
	reads    []int64    // where each read began
}

func (j *history) head() core.Head {
	var h core.Head
	h.Thread, h.Seq = "thr_a", int64(len(j.segments))
	if h.Seq > 0 {
		h.Seg = j.segments[h.Seq-1].W
	}
	return h
}

func (j *history) add(messages ...core.Message) core.Segment {
	h := j.head()
	j.stamp++
	s := core.Segment{Seq: h.Seq + 1, W: j.stamp, Prev: h.Seg, Messages: messages}
	j.segments = append(j.segments, s)
	return s
}

func (j *history) read(from int64) ([]core.Segment, error) {
	j.reads = append(j.reads, from)
	return j.segments[from-1:], nil
}

func said(text string) core.Message {
	return core.Message{Role: core.RoleUser, Parts: core.TextParts(text), RunID: "run_a_0"}
}

func asked(id string) core.Message {
	return core.Message{Role: core.RoleAssistant, RunID: "run_a_0", Calls: []core.ToolCall{{ID: id, Name: "look", Arguments: []byte(`{}`)}}}
}

func result(id, text string, pending bool) core.Message {
	return core.Message{Role: core.RoleTool, CallID: id, Tool: "look", Pending: pending, Parts: core.TextParts(text), RunID: "run_a_0"}
}

func TestWhatIsKnownIsNotReadAgain(t *testing.T) {
	j := &history{}
	for i := range 50 {
		j.add(said(fmt.Sprint("message ", i)))
	}
	threads := warm.NewThreads(1 << 20)
	key := warm.Key{Tenant: "t", Thread: "thr_a"}
	for range 40 {
		known := threads.Take(key)
		got, err := known.Transcript(j.head(), j.read)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(core.TranscriptOf(core.Messages(j.segments)), got.Messages()); diff != "" {
			t.Fatal(diff)
		}
		known.Committed(j.add(said("its own")))
		threads.Keep(key, known)
		j.add(said("of another process"))
	}
	for i, from := range j.reads {
		if want := int64(50 + 2*i); i > 0 && from != want {
			t.Errorf("read %d begins at %d, want %d", i, from, want)
		}
	}
}

// TestWhatIsKnownNeverShows: whatever a process keeps, it answers what the journal holds.
func TestWhatIsKnownNeverShows(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		j, known := &history{}, []*warm.Thread{{}, {}, {}}
		for range 30 {
			one := known[rng.IntN(len(known))]
			s := j.add(someMessages(rng)...)
			if rng.IntN(2) == 0 {
				one.Committed(s)
			}
			if rng.IntN(40) == 0 { // the thread was deleted, and another has its name
				n := rng.IntN(len(j.segments))
				j.segments = nil
				for range n {
					j.add(someMessages(rng)...)
				}
			}
			h := j.head()
			from := 1 + rng.Int64N(h.Seq+1)
			got, err := one.Since(h, from, j.read)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if want := j.segments[from-1:]; !bytes.Equal(core.Encode(want), core.Encode(got)) && len(want)+len(got) > 0 {
				diff := cmp.Diff(want, got)
				t.Fatalf("seed %d: segments from %d: %s", seed, from, diff)
			}
			talk, err := one.Transcript(h, j.read)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			want := core.TranscriptOf(core.Messages(j.segments))
			if said := talk.Messages(); !bytes.Equal(core.Encode(want), core.Encode(said)) && len(want)+len(said) > 0 {
				t.Fatalf("seed %d: %s", seed, cmp.Diff(want, said))
			}
		}
	}
}

func someMessages(rng *rand.Rand) (m []core.Message) {
	id := fmt.Sprint("c", rng.IntN(8))
	for range rng.IntN(3) {
		switch rng.IntN(4) {
		case 0:
			m = append(m, said(fmt.Sprint("says ", rng.IntN(100))))
		case 1:
			m = append(m, asked(id))
		default:
			m = append(m, result(id, fmt.Sprint("is ", rng.IntN(100)), rng.IntN(2) == 0))
		}
	}
	return m
}

func TestATornJournalIsAnError(t *testing.T) {
	j := &history{}
	for range 5 {
		j.add(said("x"))
	}
	known := &warm.Thread{}
	if _, err := known.Transcript(j.head(), j.read); err != nil {
		t.Fatal(err)
	}
	j.add(said("y"))
	j.segments[5].Prev++
	if _, err := known.Transcript(j.head(), j.read); err == nil || !strings.Contains(err.Error(), "does not follow") {
		t.Errorf("a segment of another history: %v", err)
	}
	j.segments[5].Prev--
	down := errors.New("down")
	if _, err := known.Transcript(j.head(), func(int64) ([]core.Segment, error) { return nil, down }); !errors.Is(err, down) {
		t.Errorf("a store that is down: %v", err)
	}
	if _, err := known.Transcript(j.head(), j.read); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	threads := warm.NewThreads(100_000)
	journals := map[warm.Key]*history{}
	again := func(n int) (reads int) {
		key := warm.Key{Tenant: "t", Thread: fmt.Sprint("thr_", n)}
		j := journals[key]
		if j == nil {
			j = &history{}
			j.add(said(strings.Repeat("x", 10_000)))
			journals[key] = j
		}
		j.reads = nil
		known := threads.Take(key)
		if _, err := known.Transcript(j.head(), j.read); err != nil {
			t.Fatal(err)
		}
		threads.Keep(key, known)
		return len(j.reads)
	}
	for n := range 20 {
		again(n)
	}
	if again(19) != 0 || again(18) != 0 {
		t.Error("the latest threads were read again")
	}
	if again(0) == 0 {
		t.Error("the first of 20 threads of 20 kB was kept within 100 kB")
	}
	big := &history{}
	big.add(said(strings.Repeat("x", 200_000)))
	known := threads.Take(warm.Key{Tenant: "t", Thread: "big"})
	_, _ = known.Transcript(big.head(), big.read)
	threads.Keep(warm.Key{Tenant: "t", Thread: "big"}, known)
	if again(0) != 0 {
		t.Error("a thread beyond the bound took the place of another")
	}
}
