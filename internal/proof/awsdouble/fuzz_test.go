package awsdouble_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// FuzzRequests sends anything to every item operation. Whatever it is, the double answers, twice
// the same, and refuses without changing anything.
func FuzzRequests(f *testing.F) {
	for _, s := range stories {
		for i, r := range s.requests {
			if i%4 == 0 && len(r.body) < 2000 && r.op != "CreateTable" {
				f.Add(r.op, r.body)
			}
		}
	}
	f.Fuzz(func(t *testing.T, op, body string) {
		run := func() (answers []answered) {
			client := awsdouble.New(awsdouble.Options{Seed: 1}).HTTPClient()
			for _, r := range []request{{"", "CreateTable", tableBody}, {"", "PutItem", put(rich)}, {"", op, body}, get(""), {"", "Scan", `{"TableName":"runs"}`}} {
				a := ask(t, client, "http://aws.invalid", r)
				if a.status != 200 && a.status != 400 {
					t.Errorf("%s %s answered %d %v", r.op, r.body, a.status, a.body)
				}
				answers = append(answers, a)
			}
			return answers[1:]
		}
		first, second := run(), run()
		if diff := cmp.Diff(first, second, cmp.AllowUnexported(answered{})); diff != "" && op != "CreateTable" && op != "DescribeTable" && op != "DeleteTable" {
			t.Errorf("%s %s is answered differently the second time:\n%s", op, body, diff)
		}
		if first[1].status == 400 && op != "DeleteTable" {
			var item map[string]any
			if err := json.Unmarshal([]byte(put(rich)), &item); err != nil {
				t.Fatal(err)
			}
			if want, got := len(item["Item"].(map[string]any)), len(first[2].body["Item"].(map[string]any)); got != want {
				t.Errorf("%s %s was refused and left %d attributes of %d", op, body, got, want)
			}
		}
	})
}
