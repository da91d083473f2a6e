package local

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/spec/attacks.md")

const attacksPage = "../../docs/spec/attacks.md"

const attacksIntro = `# Attacks

` + "`TestNoAttackDecides`" + ` sends these requests to a local server, each about a call that waits, and
checks in the run's journal that no decision was stored and that the tool didn't run. For each group, it
also sends an honest request, which decides. [Security](../how-it-works/security.md) lists the rules.
`

// page lists the attacks of a group under each answer.
func page(all []group) string {
	var b strings.Builder
	b.WriteString(attacksIntro)
	for _, g := range all {
		b.WriteString("\n## " + strings.ToUpper(g.name[:1]) + g.name[1:] + "\n\n|attack|answer|\n|---|---|\n")
		for _, a := range g.attacks {
			b.WriteString("|" + a.name + "|" + a.want + "|\n")
		}
	}
	return b.String()
}

func TestTheListOfAttacks(t *testing.T) {
	all := groups()
	var names []string
	for _, g := range all {
		if g.control.send == nil || len(g.attacks) == 0 {
			t.Errorf("%s has no control or no attack", g.name)
		}
		for _, a := range g.attacks {
			if strings.HasPrefix(a.want, "202") {
				t.Errorf("%s is accepted", a.name)
			}
			names = append(names, a.name)
		}
	}
	if len(names) < 60 {
		t.Errorf("only %d attacks", len(names))
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) < len(names) {
		t.Errorf("of %d names, %d are unique", len(names), len(unique))
	}
	want := page(all)
	if *update {
		if err := os.WriteFile(attacksPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(attacksPage); err != nil || string(got) != want {
		t.Errorf("%s is not what the tests say (%v); run go test ./internal/local -run TestTheListOfAttacks -update", attacksPage, err)
	}
}
