package live_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/local/live"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite/dbfile"
)

var (
	seeds = flag.Int("live.seeds", 30, "how many random interleavings are tried")
	seed  = flag.Uint64("live.seed", 0, "try this one only")
)

var anna = frontend.Caller{Tenant: "default", By: "anna"}

// stage is one run over a real store, with a model that does what it is told and readers that come
// and go.
type stage struct {
	t      *testing.T
	random *rand.Rand
	clock  *enginetest.Clock
	ids    engine.Random
	db     *sqlite.DB
	front  *query.Reader
	engine *engine.Engine
	run    wire.Run

	truth   *truth
	working []*working
	readers []*reader
	old     []*reader // as they were at some time
	lost    bool      // the next commit is
	log     []string
}

func TestReadersPutTogetherWhatIsCommittedWhateverComesBetween(t *testing.T) {
	first, last := uint64(1), uint64(*seeds)
	if *seed != 0 {
		first, last = *seed, *seed
	}
	seen := map[string]int{}
	for n := first; n <= last; n++ {
		t.Run(fmt.Sprintf("seed %d", n), func(t *testing.T) {
			s := newStage(t, n)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("again with -live.seed %d; what happened:\n%s", n, strings.Join(s.log, "\n"))
				}
			})
			s.play(120)
			for what, times := range s.truth.seen {
				seen[what] += times
			}
		})
	}
	t.Logf("%v", seen)
	for _, what := range situations {
		if seen[what] < 10 && *seed == 0 {
			t.Errorf("%s: only %d times; the interleavings try too little", what, seen[what])
		}
	}
}

// situations are those that the interleavings shall bring about.
var situations = []string{"text goes on: false", "text goes on: true", "text is committed as it was heard: false", "text is committed as it was heard: true",
	"text is taken back by a reset that is committed", "text is taken back by a reset that is live"}

func newStage(t *testing.T, seed uint64) *stage {
	t.Helper()
	s := &stage{t: t, random: rand.New(rand.NewPCG(seed, 1)), clock: enginetest.NewClock(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)),
		ids: enginetest.NewRandom(t, seed), truth: newTruth()}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "d.db"), sqlite.Options{Clock: s.clock, Random: s.ids, Sync: dbfile.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s.db = db
	s.process()
	started, err := s.front.Start(t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: []byte(`"hi"`)})
	if err != nil {
		t.Fatal(err)
	}
	s.run = started.Run
	return s
}

// process is a new one, which knows nothing of what was said in the one before.
func (s *stage) process() {
	board := live.NewBoard(s.clock)
	s.engine = engine.New(engine.Options{Store: losing{s.db, s}, Waker: s.db, Agents: agents{s}, Clock: s.clock, Random: s.ids, Live: heard{board, s},
		// who has lost the run is not told: it goes on speaking until the test says
		// otherwise
		Watch: 24 * time.Hour})
	s.front = query.New(frontend.New(frontend.Options{Store: s.db, Catalog: frontendtest.NewCatalog("desk"), Waker: s.db, Clock: s.clock, Random: s.ids, Live: board}))
}

// losing loses a commit, and with it the activation, as a crash would.
type losing struct {
	engine.Store
	s *stage
}

func (l losing) Commit(ctx context.Context, req engine.CommitRequest) (engine.Written, error) {
	if l.s.lost {
		l.s.lost = false
		return engine.Written{}, errors.New("the process is lost")
	}
	l.s.look()
	w, err := l.Store.Commit(ctx, req)
	l.s.look()
	return w, err
}

func (s *stage) note(format string, args ...any) { s.log = append(s.log, fmt.Sprintf(format, args...)) }

// one says true in one of n cases.
func (s *stage) one(n int) bool { return s.random.IntN(n) == 0 }

func (s *stage) play(steps int) {
	for range steps {
		s.something()
		if s.t.Failed() {
			break
		}
	}
	s.finish()
	journal := s.journal()
	for i, r := range append(s.readers, s.old...) {
		s.drain(r)
		r.wantCommitted(fmt.Sprintf("reader %d", i), journal)
	}
	late := newReader(s.t, s.truth)
	s.drain(late)
	late.wantCommitted("one who comes when all is over", journal)
}

func (s *stage) something() {
	defer s.look()
	switch n := s.random.IntN(20); {
	case n == 0 || len(s.readers) == 0:
		s.place(newReader(s.t, s.truth), "joins")
	case n == 1:
		s.old = append(s.old, s.readers[s.random.IntN(len(s.readers))].since())
	case n == 2 && len(s.old) > 0:
		s.place(s.old[s.random.IntN(len(s.old))].since(), "comes back with an old cursor")
	case len(s.working) == 0 || n == 3 && s.one(3):
		s.begin()
	case n == 4 && s.one(3):
		s.note("the process is restarted")
		s.abandon()
		s.process()
	default:
		s.act(s.working[s.random.IntN(len(s.working))])
	}
}

// place gives a reader the place of one who leaves, once there are enough.
func (s *stage) place(r *reader, how string) {
	i := len(s.readers)
	if i < 4 {
		s.readers = append(s.readers, r)
	} else {
		i = s.random.IntN(i)
		s.readers[i] = r
	}
	s.note("reader %d %s", i, how)
}

// look lets some of the readers read a page. It is called between any two things that happen, also
// by the worker: between its commit and what it says of it.
func (s *stage) look() {
	for i, r := range s.readers {
		if s.one(3) {
			s.read(i, r)
		}
	}
}

// read is a page as a stream reads it, or as one of JSON.
func (s *stage) read(i int, r *reader) {
	epoch := s.head().Epoch
	page, err := s.front.Events(s.t.Context(), anna, s.run.ID, query.EventQuery{After: r.cursor, Limit: 1 + s.random.IntN(6), Live: !s.one(6)})
	if err != nil {
		s.t.Error(err)
		return
	}
	for _, e := range page.Items {
		s.note("  reader %d: %d %s %.200s", i, e.Seq, e.Type, e.Data)
		if strings.HasSuffix(e.Type, ".delta") && !strings.Contains(string(e.Data), fmt.Sprintf(`"attempt":"%d.`, epoch)) {
			s.t.Errorf("the run is claimed under epoch %d, and live is %.200s", epoch, e.Data)
		}
	}
	r.take(page)
	if len(page.Items) > 0 && !s.one(3) {
		r.cursor = page.Next // as good as what the last event says
	}
}

func (s *stage) drain(r *reader) {
	for range 1000 {
		page, err := s.front.Events(s.t.Context(), anna, s.run.ID, query.EventQuery{After: r.cursor, Limit: 7, Live: true})
		if err != nil {
			s.t.Fatal(err)
		}
		if r.take(page); page.Done {
			return
		}
	}
	s.t.Error("a reader gets to no end")
}

func (s *stage) journal() []core.Event {
	h := s.head()
	segments, err := s.db.Segments(s.t.Context(), anna.Tenant, h.Thread, 1, h.Seq)
	if err != nil {
		s.t.Fatal(err)
	}
	var events []core.Event
	for _, seg := range segments {
		events = append(events, seg.Expand()...)
	}
	return events
}

func (s *stage) head() core.Head {
	h, err := s.db.Load(s.t.Context(), anna.Tenant, s.run.ThreadID)
	if err != nil {
		s.t.Error(err)
	}
	return h
}

// finish lets the run come to its end, if it has not.
func (s *stage) finish() {
	s.note("to the end")
	s.abandon()
	for range 200 {
		if s.head().Status == core.RunDone {
			return
		}
		s.begin()
		if len(s.working) > 0 {
			w := s.working[0]
			s.speak(w, core.TextPart, "the end")
			s.end(w, core.Turn{Text: w.text}, nil)
		}
	}
	s.t.Error("the run comes to no end")
}
