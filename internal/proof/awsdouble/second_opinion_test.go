package awsdouble_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// TestASecondServerAnswersTheSame runs every list of requests against the double and against a
// server that others wrote, and wants the same status, error code and answer. Messages may differ.
// What differs and why is declared in [apart]; a difference that has gone must go from there too.
func TestASecondServerAnswersTheSame(t *testing.T) {
	second := os.Getenv("DORMOUSE_TEST_DYNAMODB")
	if second == "" {
		t.Skip("not run: the comparison with a second DynamoDB; DORMOUSE_TEST_DYNAMODB names no server, as http://127.0.0.1:8000 would")
	}
	// the server remembers those of earlier runs
	token := strconv.FormatInt(time.Now().UnixNano(), 36)
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			double := httptest.NewServer(awsdouble.New(awsdouble.Options{Seed: 1}))
			defer double.Close()
			reset(t, second)
			for _, r := range append([]request{{"the table", "CreateTable", tableBody}}, s.requests...) {
				r.body = strings.ReplaceAll(r.body, "TOKEN", token)
				ours, theirs := post(t, double.URL, r), post(t, second, r)
				if r.op == "CreateTable" || r.op == "DescribeTable" {
					// clocks, regions and accounts
					ours.body, theirs.body = nil, nil
				}
				compare(t, s.name+": "+r.name, r, ours, theirs)
			}
		})
	}
}

func compare(t *testing.T, name string, r request, ours, theirs answered) {
	t.Helper()
	diff := cmp.Diff(theirs.comparable(), ours.comparable(), cmp.AllowUnexported(answered{}))
	why, declared := apart[name]
	switch {
	case diff != "" && !declared:
		t.Errorf("%s: %s %.900s\n(-second server +double):\n%s\ntheir message: %s\nour message: %s", name, r.op, r.body, diff, theirs.message, ours.message)
	case diff == "" && declared:
		t.Errorf("%s is declared as different (%s) and is not", name, why)
	}
}

type request struct{ name, op, body string }

type answered struct {
	status  int
	code    string
	message string
	body    map[string]any
}

// comparable leaves out the words of errors, and orders what has no order.
func (a answered) comparable() answered {
	a.message = ""
	if a.code != "" {
		for _, name := range []string{"message", "Message", "__type"} {
			delete(a.body, name)
		}
		if reasons, ok := a.body["CancellationReasons"].([]any); ok {
			for _, r := range reasons {
				delete(r.(map[string]any), "Message")
			}
		}
	}
	sortSets(a.body)
	return a
}

// sortSets puts the members of sets in order. A list of values has maps in it and stays as it is.
func sortSets(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, sub := range v {
			if set, ok := sub.([]any); ok && (name == "SS" || name == "NS" || name == "BS") {
				slices.SortFunc(set, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
			}
			sortSets(sub)
		}
	case []any:
		for _, sub := range v {
			sortSets(sub)
		}
	}
}

func post(t *testing.T, url string, r request) answered {
	t.Helper()
	return ask(t, http.DefaultClient, url, r)
}

type doer interface {
	Do(*http.Request) (*http.Response, error)
}

func ask(t *testing.T, client doer, url string, r request) answered {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/", strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+r.op)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Date", "20270115T080000Z")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=double/20270115/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, "+
		"Signature=0000000000000000000000000000000000000000000000000000000000000000")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answered{status: resp.StatusCode}
	if err := json.Unmarshal(raw, &a.body); err != nil {
		t.Fatalf("%s %s answered %q: %v", r.op, r.body, raw, err)
	}
	kind, _ := a.body["__type"].(string)
	_, a.code, _ = strings.Cut(kind, "#")
	for _, name := range []string{"message", "Message"} {
		if m, ok := a.body[name].(string); ok {
			a.message = m
		}
	}
	return a
}

func reset(t *testing.T, url string) {
	t.Helper()
	post(t, url, request{"", "DeleteTable", `{"TableName":"runs"}`}) // there may be none
}
