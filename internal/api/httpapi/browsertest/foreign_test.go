package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

//go:embed foreign.js
var foreignScript string

// foreignTexts are the texts of the corpus, and the places of those that stand for their kind: the
// first two that are warned of alike.
func foreignTexts(t *testing.T) (texts []string, kinds []int) {
	ofKind := map[string]int{}
	for _, one := range corpus(t) {
		text, ok := one.text()
		if !ok || strings.TrimSpace(text) == "" {
			continue
		}
		if kind := strings.Fields(one.Name)[0] + fmt.Sprint(one.Warns); ofKind[kind] < 2 {
			ofKind[kind]++
			kinds = append(kinds, len(texts))
		}
		texts = append(texts, text)
	}
	return texts, kinds
}

// crowd is a server with texts in every place where the console shows text of others.
type crowd struct {
	*server
	reads *query.Reader
	as    func(text string) frontend.Caller
}

// starts begins a run that has a text in all that its caller says.
func (c crowd) starts(text string) wire.Run {
	c.t.Helper()
	started, err := c.reads.Start(c.t.Context(), c.as(text), "", wire.StartRequest{Agent: agentOf(text), Input: core.Encode(requestOf(text)), Metadata: metadataOf(text)})
	if err != nil {
		c.t.Fatal(err)
	}
	return started.Run
}

// calls is a call that has a text in all that its model and its tool say.
func calls(text string) frontendtest.Call {
	name, short := string(core.Encode(text)), shortened(text)
	return frontendtest.Call{ID: "c1", Tool: text, Kind: core.KindApproval, Message: text, Said: short, Preview: &core.Preview{Text: short, Tool: "get"},
		Arguments: json.RawMessage(`{` + name + `:` + name + `,"other":[` + name + `]}`)}
}

func (c crowd) asks(text string) wire.Run {
	c.t.Helper()
	run := c.starts(text)
	c.worker.Suspend(run.ID, calls(text))
	return c.now(run)
}

// answered is a run whose question was denied, with the text as the reason.
func (c crowd) answered(text string, by frontend.Caller) wire.Run {
	c.t.Helper()
	run := c.asks(text)
	d := wire.Decision{Action: "cancel", Reason: shortened(text)}
	if _, err := c.reads.DecideSuspension(c.t.Context(), by, run.Pending[0].Suspension.ID, d); err != nil {
		c.t.Fatal(err)
	}
	c.worker.Drain(run.ID)
	c.worker.Finish(run.ID, text)
	return run
}

// lines is the store of notices.
type lines interface {
	HandOver(ctx context.Context, req engine.HandOver) (bool, error)
	ClaimLine(ctx context.Context, req engine.LineClaim) (notice.Line, error)
	WriteLine(ctx context.Context, req engine.LineWrite) (notice.Line, error)
}

// givesUp gives a notice up, with the text as what its endpoint said.
func (c crowd) givesUp(endpoint, why string) {
	c.t.Helper()
	store, now := c.worker.Store.(lines), c.clock.Now().UnixMilli()
	k := notice.Key{Tenant: access.Tenant, Thread: "thr_a", Endpoint: endpoint}
	if _, err := store.HandOver(c.t.Context(), engine.HandOver{Key: k, Event: 7, Kind: notice.Suspended, Seq: 7, Now: now}); err != nil {
		c.t.Fatal(err)
	}
	l, err := store.ClaimLine(c.t.Context(), engine.LineClaim{Key: k, Claim: "c", Now: now, LeaseEnd: now + 1000, Due: now + 1000})
	if err != nil {
		c.t.Fatal(err)
	}
	e, _ := l.Entries[7].After(notice.Hopeless, notice.Attempt{At: now, Took: 5, Status: 404, Error: why}, 0)
	r := e.Record(k, 7, notice.StateDead, now)
	if _, err := store.WriteLine(c.t.Context(), engine.LineWrite{Key: k, Epoch: l.Epoch, Event: 7, Record: &r, Release: true, Adds: l.Adds}); err != nil {
		c.t.Fatal(err)
	}
}

// places are the pages of one text, and those of all texts, by name. What has no row for each of
// all texts has one for each of their kinds.
func (c crowd) places(texts []string, kinds []int) (ofAll, ofOne map[string]string) {
	ofAll = map[string]string{"inbox": "/", "runs": "/runs", "conversations": "/chat", "agents": "/agents", "answered": "/answered", "numbers": "/operate", "dead letters": "/operate/dead"}
	ofOne = map[string]string{}
	busy := c.starts("Go through all of it.")
	var several []string
	bulk := func(n int) {
		if len(several) == n {
			ofAll["several "+fmt.Sprint(len(ofAll))] = "/bulk?" + url.Values{"question": several}.Encode()
			several = nil
		}
	}
	for i, text := range texts {
		waits := c.asks(text)
		of := slices.Index(kinds, i)
		if of < 0 {
			continue
		}
		several = append(several, waits.Pending[0].Suspension.ID)
		bulk(20)
		name := core.Encode(text)
		c.worker.Works(busy.ID, frontendtest.Answer{Text: text, Calls: []frontendtest.Ran{{ID: fmt.Sprint("l", i), Tool: text, Arguments: json.RawMessage(`{` + string(name) + `:` + string(name) + `}`), Result: name}}})
		c.givesUp(fmt.Sprintf("wh_%03d%s", i, shortened(text)), shortened(text))
		c.answered(text, frontend.Caller{Tenant: access.Tenant, Via: "console", Roles: []access.Role{access.Decide}})
		c.agents = append(c.agents, wire.Agent{Name: fmt.Sprintf("%03d%s", i, text), Description: text, Model: text, Tools: []wire.Tool{
			{Name: text, Description: text, Permission: "ask"}, {Name: "other", Agent: text, Permission: "allow"}, {Name: "remote", A2A: text, Permission: "deny"}}})
		if of%4 == 2 {
			done := c.answered(text, c.as(text))
			ofOne["outcome of "+fmt.Sprint(i)] = questionPath(done)
		}
		if of%8 == 0 {
			asked := c.asks(text)
			ofOne["link of "+fmt.Sprint(i)] = strings.TrimPrefix(c.link(asked), c.url)
			c.denies(asked)
			ofOne["run of "+fmt.Sprint(i)], ofOne["conversation of "+fmt.Sprint(i)] = "/runs/"+waits.ID, "/chat/"+waits.ThreadID
			ofOne["nothing at "+fmt.Sprint(i)] = "/runs/" + url.PathEscape(shortened(text))
		}
	}
	bulk(len(several))
	ofAll["run"], ofAll["conversation"] = "/runs/"+busy.ID, "/chat/"+busy.ThreadID
	return ofAll, ofOne
}

// foreign is what foreign.js returns.
type foreign struct {
	Wrong       []string
	Frame, More string
}

// finds opens a page at the width of a phone, and at that of a small one.
func (c crowd) finds(ctx context.Context, name, path string) (found foreign) {
	c.t.Helper()
	for i, width := range []int64{390, 320} {
		do(c.t, ctx, chromedp.EmulateViewport(width, 844))
		if i == 0 {
			c.openConsole(ctx, path)
		}
		found = c.looks(ctx)
		for _, wrong := range found.Wrong {
			c.t.Errorf("%s, %d pixels: %s", name, width, wrong)
		}
	}
	return found
}

// looks is what is wrong with the page that is open.
func (c crowd) looks(ctx context.Context) (found foreign) {
	c.t.Helper()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](hiddenScript+foreignScript))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		c.t.Fatal(err)
	}
	return found
}

func newCrowd(t *testing.T) crowd {
	c := crowd{as: func(text string) frontend.Caller {
		return frontend.Caller{Tenant: access.Tenant, By: "token:" + shortened(text), Via: "api", Roles: []access.Role{access.Decide}}
	}}
	clock := &still{now: frontendtest.NewClock().Now()}
	c.server = serveAt(t, clock, withConsole, func(o *httpapi.Options) { c.reads = query.New(o.Frontend) })
	return c
}

// Text of others is text in each place of the console, and what is around it is as around harmless
// text.
func TestForeignTextInEveryPlace(t *testing.T) {
	t.Parallel()
	texts, kinds := foreignTexts(t)
	harmless := make([]string, len(texts))
	for i := range harmless {
		harmless[i] = fmt.Sprintf("Payment %d needs a person.", i)
	}
	ctx := browser(t)
	plain, hostile := newCrowd(t), newCrowd(t)
	plainOfAll, plainOfOne := plain.places(harmless, kinds)
	ofAll, ofOne := hostile.places(texts, kinds)
	t.Logf("%d texts, %d of them in each place", len(texts), len(kinds))
	for name, path := range ofAll {
		t.Run(name, func(t *testing.T) {
			plain.t, hostile.t = t, t
			other := plainOfAll[name]
			for n := 1; path != ""; n++ {
				want := plain.finds(ctx, fmt.Sprint("harmless page ", n), other)
				got := hostile.finds(ctx, fmt.Sprint("page ", n), path)
				if got.Frame != want.Frame || (got.More == "") != (want.More == "") {
					t.Fatalf("page %d has\n%s, more: %q, and with harmless text\n%s, more: %q", n, got.Frame, got.More, want.Frame, want.More)
				}
				path, other = follow(path, got.More), follow(other, want.More)
			}
		})
	}
	t.Run("one by one", func(t *testing.T) {
		plain.t, hostile.t = t, t
		frames := map[string]string{}
		for name, path := range ofOne {
			place, _, _ := strings.Cut(name, " ")
			if frames[place] == "" {
				frames[place] = plain.finds(ctx, "harmless "+place, plainOfOne[name]).Frame
			}
			if got := hostile.finds(ctx, name, path).Frame; got != frames[place] {
				t.Errorf("%s has\n%s, and with harmless text\n%s", name, got, frames[place])
			}
		}
	})
}

// follow is where a page says that more is.
func follow(path, more string) string {
	if more == "" || !strings.HasPrefix(more, "?") {
		return more
	}
	path, _, _ = strings.Cut(path, "?")
	return path + more
}

// hears lets the test be the server whose streams a page follows.
const hears = `window.heard = {}; window.EventSource = class { addEventListener(type, act) { heard[type] = act; } close() {} };`

// What the model is saying now, and who has just answered, are drawn by the script: it spells them,
// too.
func TestForeignTextThatComesLater(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	ctx := browser(t)
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: hears}); err != nil {
		t.Fatal(err)
	}
	talks, asks := c.starts("Talk to me."), c.asks("Payments need approval.")
	c.worker.Works(talks.ID, frontendtest.Answer{Text: "I look."})
	texts, _ := foreignTexts(t)
	all := string(core.Encode(strings.Join(texts, "\n")))
	for path, comes := range map[string]string{
		"/chat/" + talks.ThreadID: `heard["text.delta"]({data: JSON.stringify({data: {text: ` + all + `}})})`,
		"/":                       `heard["decision.recorded"]({data: JSON.stringify({data: {suspension: "` + asks.Pending[0].Suspension.ID + `", by: "link:" + ` + all + `}})})`,
	} {
		c.openConsole(ctx, path)
		is(t, ctx, "what comes", `document.readyState === "complete" && window.heard !== undefined && (`+comes+`, true)`)
		is(t, ctx, "what is drawn", `(document.querySelector(".gone-note") ?? document.getElementById("speech")).textContent.length > 10000`)
		found := c.looks(ctx)
		for _, wrong := range found.Wrong {
			if !strings.HasPrefix(wrong, "reorders") { // a name and a sentence
				t.Errorf("%s: %s", path, wrong)
			}
		}
	}
}
