package awsstep

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/examples/refund-desk/refunddesk"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	prices "github.com/dormouse-dev/dormouse/internal/aws/template/costs"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/served"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/engine/sweeper"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/ops"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/proof/effort"
)

// spent is what the table was asked for.
type spent struct {
	requests           int
	read, write, index float64 // units
}

// dormitory is a stack with runs that wait for an approval, each with a deadline and a reminder,
// and the model that they ask.
type dormitory struct {
	*deployed
	waiting  int
	template sleeper
	draws    []drawn

	mu   sync.Mutex
	then spent // until the model was asked after a refund
}

// ServeHTTP is the model.
func (d *dormitory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	refunded := served.Refunded(string(body))
	if refunded {
		d.mu.Lock()
		d.then = d.spent()
		d.mu.Unlock()
	}
	served.Reply(w, refunded)
}

// spare are runs beside those that are asked for: what looks at the first 1,000 finds more behind
// them.
const spare = 200

// days is how long the runs have begun before the newest one. Their reminders are due after three.
const days = 2 * 24 * time.Hour

func newDormitory(t *testing.T, waiting int) *dormitory {
	d := &dormitory{waiting: waiting + spare}
	model := httptest.NewServer(d)
	t.Cleanup(model.Close)
	d.deployed = newDeployedWith(t, map[string]string{"DORMOUSE_PRIVATE_HOSTS": strings.TrimPrefix(model.URL, "http://"), "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128"})
	d.stand()
	d.clock.Advance(1_234_567_891 * time.Millisecond) // a round number is stored in fewer bytes
	d.caller = frontend.Caller{Tenant: "acme", By: "token:anna"}
	d.deployText("sleeper", fmt.Sprintf(served.Sleeper, model.URL+"/v1"))
	d.restart()
	d.template = d.read(d.waits())
	return d
}

// restart makes processes that know nothing yet.
func (d *dormitory) restart() {
	d.Helper()
	clock, random := d.clock, d.parts.Random
	var err error
	d.parts, err = Open(d.set, Program{Name: "desk", Register: binding.New(refunddesk.Program()).Lambda}, &d.out)
	d.must(err)
	d.parts.Clock, d.parts.Random = clock, random
	a := d.parts.Agents
	d.starter = frontend.New(frontend.Options{Store: d.parts.Store, Links: d.parts.Store, Catalog: a.Catalog(), Waker: d.parts.Waker, Clock: clock, Random: random,
		Describe: a.Describe, Tool: a.Tool, Check: a.Check, Accepts: a.Accepts, Starters: a.Starters, Narrow: a.Narrow, DayBudget: a.DayBudget})
	d.handler = lambda.NewHandler(New(d.parts, func() float64 { return 0 }).Handle)
}

// waits executes a run until it waits, and returns its thread.
func (d *dormitory) waits() string {
	d.Helper()
	started, err := d.starter.Start(d.Context(), d.caller, "", wire.StartRequest{Agent: "sleeper", Input: core.Encode(served.Request)})
	d.must(err)
	d.pump()
	run, err := d.starter.Run(d.Context(), d.caller, started.Run.ID)
	d.must(err)
	if len(run.Pending) != 1 {
		d.Fatalf("the run does not wait: %+v\nthe log:\n%s", run, d.out.String())
	}
	return run.ThreadID
}

// fill stores copies, the oldest first.
func (d *dormitory) fill() {
	d.Helper()
	random := enginetest.NewRandom(d.T, uint64(d.waiting))
	for i := range d.waiting {
		before := days.Milliseconds() - int64(i)*days.Milliseconds()/int64(d.waiting)
		d.draws = append(d.draws, drawn{thread: random.Text(len(d.template.thread)), claim: random.Text(len(d.template.claim)),
			suspension: random.Text(len(d.template.suspension)), born: d.template.born - before})
	}
	d.write(d.template, d.draws)
}

// spent is what the table was asked for since the counts were set back.
func (d *dormitory) spent() (s spent) {
	units := d.double.Units()
	for name, n := range d.double.Requests() {
		if !strings.Contains(name, "Message") {
			s.requests += n
		}
	}
	s.read, s.write, s.index = units.Read, units.Write, units.IndexWrite
	return s
}

func (d *dormitory) costs(do func()) spent {
	d.double.ResetCounts()
	do()
	return d.spent()
}

// decides approves a refund, and returns what it took until the model was asked with its result.
func (d *dormitory) decides(run drawn) spent {
	d.Helper()
	d.double.ResetCounts()
	d.then = spent{}
	_, err := d.starter.Decide(d.Context(), d.caller, run.run(), wire.Decision{DecisionID: "d", Target: run.target(), Action: "resume"})
	d.must(err)
	d.pump()
	d.mu.Lock()
	defer d.mu.Unlock()
	if done, err := d.starter.Run(d.Context(), d.caller, run.run()); err != nil || done.Reason == nil || *done.Reason != "natural_end" {
		d.Fatalf("the run did not end: %+v, %v\nthe log:\n%s", done, err, d.out.String())
	}
	return d.then
}

// page reads page 1 or 100 of the inbox.
func (d *dormitory) page(n int, order string) spent {
	d.Helper()
	read := func(limit int, cursor string) string {
		page, err := query.New(d.starter).Approvals(d.Context(), d.caller, query.List{Limit: limit, Cursor: cursor, Order: order})
		d.must(err)
		if len(page.Items) != limit || page.Next == "" {
			d.Fatalf("a page of %d has %d entries, and then %q", limit, len(page.Items), page.Next)
		}
		return page.Next
	}
	cursor := ""
	for left := 10 * (n - 1); left > 0; left -= 90 {
		cursor = read(90, cursor)
	}
	return d.least(func() { read(10, cursor) })
}

// least is what a read takes that is made three times. On a busy machine, one in some dozens took a
// query more, and the log then says of which kind.
func (d *dormitory) least(read func()) (least spent) {
	d.Helper()
	for range 3 {
		once := d.costs(read)
		if least.requests != 0 && once != least {
			d.Logf("a read took %+v before, and now %+v: %v", least, once, d.double.Requests())
		}
		if least.requests == 0 || once.requests < least.requests {
			least = once
		}
	}
	return least
}

// sweeps does what the sweep does in a minute.
func (d *dormitory) sweeps() spent {
	d.Helper()
	return d.costs(func() {
		_, err := d.parts.Store.OldestDue(d.Context(), d.clock.Now().UnixMilli())
		d.must(err)
		d.must(sweeper.Sweep(d.Context(), d.parts.Store, d.parts.Waker, d.clock, time.Minute))
	})
}

// row is an operation and what it takes. Those without a name are not in the documentation.
type row struct {
	what  string
	shown bool
	spent
}

// operate does everything once.
func (d *dormitory) operate() (rows []row) {
	d.Helper()
	add := func(what string, shown bool, s spent) { rows = append(rows, row{what, shown, s}) }
	add("start-up", true, d.costs(d.restart))
	add("decision, cold", true, d.decides(d.draws[d.waiting/2]))
	known := d.read(d.waits()).drawn
	add("decision, warm", true, d.decides(known))
	add("inbox page 1", true, d.page(1, ""))
	add("page 100", true, d.page(100, ""))
	add("by deadline", true, d.page(1, query.OrderDeadline))
	add("by deadline, page 100", true, d.page(100, query.OrderDeadline))
	add("count of questions", false, d.costs(func() {
		_, err := query.New(d.starter).Counts(d.Context(), d.caller, "")
		d.must(err)
	}))
	add("operator's numbers", true, d.costs(func() {
		_, err := ops.New(d.starter, nil).Read(d.Context(), d.caller)
		d.must(err)
	}))
	add("idle sweep", true, d.sweeps())
	d.clock.Advance(72*time.Hour - days) // the oldest run's reminder
	add("sweep, one due", true, d.sweeps())
	before := d.pumped
	add("reminder", true, d.costs(d.pump))
	if woken := d.pumped - before; woken != 1 {
		d.Errorf("the sweep of %d waiting runs sent %d wake-ups, want 1", d.waiting, woken)
	}
	return rows
}

// weight is what a waiting run takes in the table and in its indexes. DynamoDB bills 100 bytes
// more for each item and for each entry.
type weight struct{ items, bytes, entries, entryBytes float64 }

const overhead = 100

func (w weight) billed() float64 { return w.bytes + w.entryBytes + overhead*(w.items+w.entries) }

// weigh asks the server for the sizes.
func (d *dormitory) weigh() (w weight) {
	d.Helper()
	out, err := d.double.DynamoDB().DescribeTable(d.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("table")})
	d.must(err)
	w.items, w.bytes = float64(*out.Table.ItemCount), float64(*out.Table.TableSizeBytes)
	for _, index := range out.Table.GlobalSecondaryIndexes {
		w.entries += float64(*index.ItemCount)
		w.entryBytes += float64(*index.IndexSizeBytes)
		d.Logf("index %s: %d entries, %d bytes", *index.IndexName, *index.ItemCount, *index.IndexSizeBytes)
	}
	return w
}

// filled fills, and returns what each copy takes.
func (d *dormitory) filled() weight {
	d.Helper()
	before := d.weigh()
	d.fill()
	after, n := d.weigh(), float64(d.waiting)
	return weight{(after.items - before.items) / n, (after.bytes - before.bytes) / n, (after.entries - before.entries) / n, (after.entryBytes - before.entryBytes) / n}
}

const benchmarks = "../../../docs/contributing/benchmarks.md"

// TestManyWaitingRunsOnATable compares what each operation takes beside 1,000 waiting runs and
// beside many more, and checks that the documentation has the figures. An operation whose requests
// or units grow with what waits is found by any difference.
func TestManyWaitingRunsOnATable(t *testing.T) {
	few := newDormitory(t, 1000)
	each := few.filled()
	rows := few.operate()
	many := newDormitory(t, effort.Of(10_000, 2_000))
	if more := many.filled(); more.items != each.items || more.entries != each.entries || more.billed() > each.billed()+1 || more.billed() < each.billed()-1 {
		t.Errorf("of %d waiting runs, each takes %+v; of %d, %+v", few.waiting, each, many.waiting, more)
	}
	for i, r := range many.operate() {
		t.Logf("%-26s %4d requests, %5.1f read, %4.1f write, %4.1f index units", r.what, r.requests, r.read, r.write, r.index)
		if r != rows[i] {
			t.Errorf("%s takes %+v beside %d waiting runs, and %+v beside %d", r.what, rows[i].spent, few.waiting, r.spent, many.waiting)
		}
	}
	t.Logf("a waiting run: %+v, %.0f bytes are billed", each, each.billed())
	page, err := os.ReadFile(benchmarks)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "|on DynamoDB|", "\n`go test ./internal/aws/awsstep"
	text := string(page)
	start, end := strings.Index(text, from), strings.Index(text, to)
	if start < 0 || end < start {
		t.Fatal("the page has no place for the tables")
	}
	want := operations(rows) + "\n" + paper(t, each)
	if text[start:end] == want {
		return
	}
	if !*updateUnits {
		t.Fatalf("the tables on the page are others; run this test with -update-units\n%s", want)
	}
	if err := os.WriteFile(benchmarks, []byte(text[:start]+want+text[end:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

func operations(rows []row) string {
	var b strings.Builder
	b.WriteString("|on DynamoDB|requests|read units|write units|of indexes|\n|---|--:|--:|--:|--:|\n")
	for _, r := range rows {
		if r.shown {
			fmt.Fprintf(&b, "|%s|%d|%g|%g|%g|\n", r.what, r.requests, r.read, r.write, r.index)
		}
	}
	return b.String()
}

// paper computes what many waiting runs take, at list prices.
func paper(t *testing.T, each weight) string {
	p, _, err := prices.Read()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("|waiting|items|index entries|GB|a month|\n|--:|--:|--:|--:|--:|\n")
	for _, n := range []float64{1e3, 1e5, 1e6} {
		gb := n * each.billed() / 1e9
		fmt.Fprintf(&b, "|%s|%s|%s|%.3f|$%.3f|\n", grouped(n), grouped(n*each.items), grouped(n*each.entries), gb, gb*p.StorageGB)
	}
	return b.String()
}

// grouped is a number without decimals, with commas.
func grouped(n float64) string {
	text := fmt.Sprintf("%.0f", n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// TestACopyOfASleeperIsWhatARealRunStores compares every item of copies of one run, with the ids
// and times of others, with those of the others.
func TestACopyOfASleeperIsWhatARealRunStores(t *testing.T) {
	d := newDormitory(t, 0)
	for range 3 {
		d.clock.Advance(977 * time.Millisecond)
		other := d.read(d.waits())
		if got, want := timeless(d.template.as(other.drawn)), timeless(other.items); !reflect.DeepEqual(got, want) {
			t.Errorf("a copy is\n%s\nwhere a run stores\n%s", core.Encode(got), core.Encode(want))
		}
	}
}
