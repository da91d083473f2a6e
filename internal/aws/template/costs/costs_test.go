package costs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/aws/template"
	"github.com/dormouse-dev/dormouse/internal/aws/template/costs"
)

var update = flag.Bool("update", false, "write the table in docs/guides/deploy-on-aws.md")

const root = "../../../../"

func bill(t *testing.T, parameters map[string]string) costs.Bill {
	t.Helper()
	text, err := os.ReadFile(root + "template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := template.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	b, err := costs.Of(parsed, parameters, 3)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestThePageHasTheTable(t *testing.T) {
	path := root + "docs/guides/deploy-on-aws.md"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	const from, to = "|idle, a month|", "\nStreams show text"
	start, end := strings.Index(page, from), strings.Index(page, to)
	if start < 0 || end < start {
		t.Fatal("the page has no place for the table")
	}
	want := bill(t, nil).Table()
	if page[start:end] == want {
		return
	}
	if !*update {
		t.Fatalf("the table on the page is another; run go test ./internal/aws/template/costs -update\n%s", want)
	}
	if err := os.WriteFile(path, []byte(page[:start]+want+page[end:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

func number(rows []costs.Row, what string) float64 {
	for _, r := range rows {
		if r.What == what {
			return r.Number
		}
	}
	return -1
}

func TestTheBillFollowsTheParameters(t *testing.T) {
	usual := bill(t, nil)
	for _, c := range []struct {
		parameters map[string]string
		part       func(costs.Bill) []costs.Row
		what       string
		grows      float64 // times
	}{
		{map[string]string{"StepMemory": "256"}, func(b costs.Bill) []costs.Row { return b.Runs }, "Lambda computing time", 2},
		{map[string]string{"StepMemory": "256"}, func(b costs.Bill) []costs.Row { return b.Runs }, "DynamoDB reads", 1},
		{map[string]string{"Streams": "Off"}, func(b costs.Bill) []costs.Row { return b.Idle }, "CloudWatch alarms", 0.97},
		{map[string]string{"SignInIssuer": "https://i.example", "SignInClientId": "c", "SecretsPath": "/d/"}, func(b costs.Bill) []costs.Row { return b.Idle }, "CloudWatch alarms", 1.05},
	} {
		before, after := number(c.part(usual), c.what), number(c.part(bill(t, c.parameters)), c.what)
		if ratio := after / before; ratio < c.grows-0.02 || ratio > c.grows+0.02 {
			t.Errorf("with %v, %s goes from %v to %v, which is %s times", c.parameters, c.what, before, after, fmt.Sprintf("%.3f", ratio))
		}
	}
}
