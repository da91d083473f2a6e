package frontend_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/runinput"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

const (
	anImage    = `{"type":"image","media_type":"image/png","data":"AAEC"}`
	aDocument  = `{"type":"document","media_type":"application/pdf","name":"Invoice 4711","data":"JVBERg=="}`
	someWords  = `{"type":"text","text":"what is this?"}`
	longInName = `{"type":"document","media_type":"text/csv","data":"YQ==","name":"`
)

func TestInputsAreTextImagesAndDocuments(t *testing.T) {
	x := newFixture(t, nil)
	for _, input := range []string{anImage, aDocument, someWords + "," + anImage, anImage + "," + anImage + "," + someWords,
		`{"type":"document","media_type":"text/markdown","data":"YQ=="}`, longInName + strings.Repeat("n", runinput.MaxName) + `"}`} {
		if _, err := x.Start(t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: []byte("[" + input + "]")}); err != nil {
			t.Errorf("%s: %v", input, err)
		}
	}
}

func TestInputsThatAreRefusedSayWhatIsWrong(t *testing.T) {
	x := newFixture(t, nil)
	for _, tt := range []struct{ part, says string }{
		{`{"type":"image","media_type":"image/svg+xml","data":"AAEC"}`, "media_type"},
		{`{"type":"image","media_type":"application/pdf","data":"AAEC"}`, "media_type"},
		{`{"type":"document","media_type":"image/png","data":"AAEC"}`, "media_type"},
		{`{"type":"image","media_type":"IMAGE/PNG","data":"AAEC"}`, "media_type"},
		{`{"type":"image","media_type":"image/png"}`, "needs data"},
		{`{"type":"image","data":"AAEC"}`, "needs media_type"},
		{`{"type":"image","media_type":"image/png","data":""}`, "no data"},
		{`{"type":"image","media_type":"image/png","data":"AAE"}`, "base64"},
		// bits that nobody reads
		{`{"type":"image","media_type":"image/png","data":"AAF="}`, "base64"},
		{`{"type":"image","media_type":"image/png","data":"AA\nEC"}`, "base64"},
		{`{"type":"image","media_type":"image/png","data":"-_-_"}`, "base64"},
		{`{"type":"image","media_type":"image/png","data":null}`, "needs data"},
		{`{"type":"image","media_type":"image/png","data":"AAEC","name":"x"}`, "do not have"},
		{`{"type":"image","media_type":"image/png","data":"AAEC","Data":"AAEC"}`, "do not have"},
		{`{"type":"text","text":"a","media_type":"text/plain"}`, "do not have"},
		{`{"type":"text"}`, "needs text"}, {`{"type":"text","text":1}`, "needs text"},
		{`{"type":"document","media_type":"text/csv","data":"YQ==","name":7}`, "needs name"},
		{longInName + strings.Repeat("n", runinput.MaxName+1) + `"}`, "name"}, {longInName + `a\nb"}`, "name"},
		{`{"type":"reasoning","text":"a"}`, "type"}, {`{"type":"call"}`, "type"}, {`{"text":"a"}`, "type"}, {`{}`, "type"}, {`null`, "part"}, {`"a"`, "part"},
	} {
		_, err := x.Start(t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: []byte("[" + someWords + "," + tt.part + "]")})
		if e := x.wantCode(err, refusal.CodeInvalid); !strings.HasPrefix(e.Detail, "input[1] ") || !strings.Contains(e.Detail, tt.says) {
			t.Errorf("%s: it says %q, and not %q", tt.part, e.Detail, tt.says)
		}
	}
}

func TestMessagesShowWhatTheyAreMadeOf(t *testing.T) {
	x := newFixture(t, nil)
	s, err := x.Start(t.Context(), anna, "", wire.StartRequest{Agent: "desk", Input: []byte("[" + someWords + "," + anImage + "," + aDocument + "]")})
	if err != nil {
		t.Fatal(err)
	}
	x.worker.Finish(s.Run.ID, "a cup")
	for _, data := range []bool{false, true} {
		page, err := x.Messages(t.Context(), anna, s.Run.ThreadID, query.List{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		want := []wire.Part{{Type: "text", Text: "what is this?"}, {Type: "image", MediaType: "image/png", Bytes: 3},
			{Type: "document", MediaType: "application/pdf", Name: "Invoice 4711", Bytes: 4}}
		if data {
			want[1].Data, want[2].Data = []byte{0, 1, 2}, []byte("%PDF")
		}
		if diff := cmp.Diff(want, page.Items[0].Parts); diff != "" || page.Items[0].Text != "what is this?" {
			t.Errorf("data %v: %q, parts (-want +got):\n%s", data, page.Items[0].Text, diff)
		}
		if last := page.Items[len(page.Items)-1]; last.Parts != nil || last.Text != "a cup" {
			t.Errorf("text alone is shown as %+v", last)
		}
	}
}

// What a provider sealed is for that provider, and for nobody who reads.
func TestReasoningIsShownWithoutItsSeal(t *testing.T) {
	x := newFixture(t, nil)
	run := x.start()
	x.worker.Say(run.ID, core.Message{Role: core.RoleAssistant, Parts: []core.Part{
		{Type: core.PartReasoning, Text: "a cup, I think", Provider: "bedrock", Sealed: []byte("sealed-with-wax")},
		{Type: core.PartReasoning, Provider: "bedrock", Sealed: []byte("sealed-with-wax")}, {Type: core.PartCall, Call: "c1"}, {Type: core.PartText, Text: "A cup."}}})
	page, err := x.Messages(t.Context(), anna, run.ThreadID, query.List{Data: true})
	if err != nil {
		t.Fatal(err)
	}
	last := page.Items[len(page.Items)-1]
	want := []wire.Part{{Type: "reasoning", Text: "a cup, I think"}, {Type: "reasoning"}, {Type: "text", Text: "A cup."}}
	if diff := cmp.Diff(want, last.Parts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	shown, _ := json.Marshal(page)
	if strings.Contains(string(shown), "wax") || strings.Contains(string(shown), base64.StdEncoding.EncodeToString([]byte("sealed-with-wax"))) {
		t.Errorf("the seal is shown: %s", shown)
	}
}

// bothSides is what a frontend and a worker need of one.
type bothSides interface {
	frontend.Store
	engine.Store
}

// An image as large as a body can bring it comes back byte for byte, from both stores and by both
// doors.
func TestALargeImageIsKept(t *testing.T) {
	image := make([]byte, 760_000)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(image)
	input := json.RawMessage(fmt.Sprintf(`[{"type":"image","media_type":"image/png","data":%q}]`, base64.StdEncoding.EncodeToString(image)))
	stores := map[string]func(t *testing.T, x *fixture) bothSides{
		"sqlite": func(_ *testing.T, x *fixture) bothSides { return x.store },
		"dynamo": onDynamo,
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, nil)
			store := open(t, x)
			front := query.New(frontend.New(frontend.Options{Store: store, Catalog: frontendtest.NewCatalog("desk"), Waker: x.waker, Clock: x.clock, Random: x.random}))
			worker := frontendtest.Worker{Test: t, Store: store, Clock: x.clock, Random: x.random, Tenant: anna.Tenant}
			s, err := front.Start(t.Context(), anna, "k", wire.StartRequest{Agent: "desk", Input: input})
			if err != nil {
				t.Fatal(err)
			}
			worker.Finish(s.Run.ID, "noise")
			next, err := front.Message(t.Context(), anna, s.Run.ThreadID, "k2", wire.MessageRequest{Input: input})
			if err != nil {
				t.Fatal(err)
			}
			worker.Finish(next.Run.ID, "noise again")
			var found []wire.Message
			for cursor := "-"; cursor != ""; {
				page, err := front.Messages(t.Context(), anna, s.Run.ThreadID, query.List{Data: true, Cursor: strings.Trim(cursor, "-")})
				if err != nil {
					t.Fatal(err)
				}
				found, cursor = append(found, page.Items...), page.Next
			}
			if len(found) != 4 || string(found[0].Parts[0].Data) != string(image) || string(found[2].Parts[0].Data) != string(image) {
				t.Errorf("%d messages came back", len(found))
			}
		})
	}
}

func onDynamo(t *testing.T, x *fixture) bothSides {
	d := awsdouble.New(awsdouble.Options{})
	client := dynamodb.NewFromConfig(d.Config(), dynamo.Retries())
	if _, err := client.CreateTable(t.Context(), dynamo.Schema("runs")); err != nil {
		t.Fatal(err)
	}
	return dynamo.New(client, dynamo.Options{Table: "runs", Clock: x.clock, Random: x.random})
}
