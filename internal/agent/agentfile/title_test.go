package agentfile_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
)

func titled(title string) string {
	return head + "tools:\n  - name: pay\n    client: true\n    parameters: {type: object, properties: {amount: {type: number}, to: {type: string}}}\n    title: " + title + "\n"
}

func TestATitleIsRead(t *testing.T) {
	d, err := agentfile.Parse("a.yaml", []byte(titled("Pay {amount} to {to}?")), noFiles)
	if err != nil || d.Tools[0].Title != "Pay {amount} to {to}?" {
		t.Fatalf("%+v, %v", d.Tools, err)
	}
	plain, err := agentfile.Parse("a.yaml", []byte(strings.Replace(titled("x"), "    title: x\n", "", 1)), noFiles)
	if err != nil || strings.Contains(string(plain.Encode()), "title") {
		t.Errorf("a tool without a title has one: %s, %v", plain.Encode(), err)
	}
	if _, err := agentfile.Parse("a.yaml", []byte(head+"tools: [{name: pay, go: pay, title: 'Pay {anything}?'}]\n"), noFiles); err != nil {
		t.Errorf("the arguments of a Go function are not known here: %v", err)
	}
}

func TestMistakesInATitleAreNamed(t *testing.T) {
	for title, want := range map[string]string{
		`Pay {amnt}?`:                       `title: pay has no argument "amnt"; it has amount, to`,
		`Pay {to.name}?`:                    `title: pay has no argument "to.name"`,
		`Pay {secret:KEY}?`:                 `cannot hold a secret`,
		`Pay {amount?`:                      `a brace belongs to no placeholder`,
		`""`:                                `title: it is empty`,
		`" "`:                               `title: it is empty`,
		`"Pay\nnow?"`:                       `line breaks`,
		`"Pay \u202e{amount}?"`:             `characters that do not show`,
		`[a]`:                               `title must be text, not a list`,
		strings.Repeat("Pay ", 31) + `now?`: `more than 120 characters`,
	} {
		if _, err := agentfile.Parse("a.yaml", []byte(titled(title)), noFiles); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", title, err)
		}
	}
}
