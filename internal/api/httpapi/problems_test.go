package httpapi

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/bodies"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

var update = flag.Bool("update", false, "rewrite generated documents")

const problemsDoc = "../../../docs/reference/errors.md"

func TestEveryCodeHasAStatus(t *testing.T) {
	there := map[refusal.Code]bool{}
	for _, p := range problems.Table {
		if there[p.Code] {
			t.Errorf("%s is in the table twice", p.Code)
		}
		there[p.Code] = true
	}
	for _, code := range refusal.Codes() {
		if !there[code] {
			t.Errorf("%s is not in the table", code)
		}
	}
}

func TestProblemsDocument(t *testing.T) {
	checkFile(t, problemsDoc, problemsDocument())
}

func problemsDocument() string {
	var b strings.Builder
	b.WriteString(`# Errors

Every error of the HTTP API is an ` + "`application/problem+json`" + ` document (RFC 9457) with ` + "`type`, `title`, `status`, `code`" + ` and
usually ` + "`detail`" + `. Programs should test ` + "`code`" + `; codes never change. ` + "`detail`" + ` explains the error to people and contains nothing confidential.
Unless the table says otherwise, a refused request stored nothing. If a request has several decisions, each gets its own code.

If a response has the header ` + "`Retry-After`" + `, try again after that many seconds. A 503 or 507 without this header lasts until the operator acts.
This page is generated from internal/api/httpapi/problems/problems.go.

|status|code|meaning and remedy|
|--:|---|---|
`)
	for _, p := range problems.Table {
		fmt.Fprintf(&b, "|%d|`%s`|%s|\n", p.Status, p.Code, p.Meaning)
	}
	return b.String()
}

func FuzzBodiesNeverPanic(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":{"b":[1,{"a":2}]},"b":"x"}`, `{"a":1,"a":2}`, `[`, `{"decisions":[{}]}`, `"x"`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, raw []byte) {
		if bodies.CheckJSON(raw) == nil {
			var to struct {
				A int `json:"a"`
			}
			_ = bodies.Decode(raw, &to)
		}
	})
}
