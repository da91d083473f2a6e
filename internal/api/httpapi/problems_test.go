package httpapi

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/frontend"
)

var update = flag.Bool("update", false, "write generated documents anew")

const problemsDoc = "../../../docs/reference/errors.md"

func TestEveryCodeHasAStatus(t *testing.T) {
	for _, code := range frontend.Codes() {
		if _, ok := problemOf[code]; !ok {
			t.Errorf("%s is not in the table", code)
		}
	}
	if len(problemOf) != len(problems) {
		t.Error("a code is in the table twice")
	}
}

func TestProblemsDocument(t *testing.T) {
	want := problemsDocument()
	if *update {
		if err := os.WriteFile(problemsDoc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(problemsDoc)
	if err != nil || string(got) != want {
		t.Errorf("docs/reference/errors.md is not what the table says (%v): go test ./internal/api/httpapi -run ProblemsDocument -update", err)
	}
}

func problemsDocument() string {
	var b strings.Builder
	b.WriteString(`# Problems

Every error is answered as ` + "`application/problem+json`" + ` (RFC 9457): ` + "`type`, `title`, `status`, `code`" + ` and usually ` + "`detail`" + `, a sentence
that is safe to show. Programs go by ` + "`code`" + `, which does not change. In the answers to several decisions the same codes
stand beside each decision.

This page is generated from the table in internal/api/httpapi.

| status | code | title | meaning |
|--:|---|---|---|
`)
	for _, p := range problems {
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s |\n", p.status, p.code, p.title, p.meaning)
	}
	return b.String()
}

func FuzzBodiesNeverPanic(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":{"b":[1,{"a":2}]},"b":"x"}`, `{"a":1,"a":2}`, `[`, `{"decisions":[{}]}`, `"x"`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, raw []byte) {
		if checkJSON(raw) == nil {
			var to struct {
				A int `json:"a"`
			}
			_ = decodeStrict(raw, &to)
		}
	})
}
