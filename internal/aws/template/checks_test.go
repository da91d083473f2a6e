package template

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const root = "../../../" // of the repository

// readTemplate returns the text of the template that is deployed.
func readTemplate(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(root + "template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// check is something that template.yaml must be and that cfn-lint does not look for. find says,
// each in a sentence, what is not so. A check that cannot fail is worth nothing, so each comes with
// ways to break the template, and must find every one.
type check struct {
	name   string
	find   func(Template) []string
	breaks []breakage
}

// breakage replaces text in the template, wherever it is.
type breakage struct{ old, new string }

func stackChecks() []check {
	var all []check
	for _, group := range [][]check{queueChecks, functionChecks, environmentChecks, rightsChecks, tableChecks, httpChecks, alarmChecks, parameterChecks, accountChecks} {
		all = append(all, group...)
	}
	return all
}

func TestTheTemplateHoldsWhatLintDoesNotSee(t *testing.T) {
	text := readTemplate(t)
	real, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range stackChecks() {
		t.Run(c.name, func(t *testing.T) {
			for _, wrong := range c.find(real) {
				t.Error(wrong)
			}
			for _, b := range c.breaks {
				if err := found(c, string(text), b); err != nil {
					t.Errorf("with %q in place of %q: %v", b.new, b.old, err)
				}
			}
			if len(c.breaks) == 0 {
				t.Error("nothing shows that this check can fail; give it a breakage")
			}
		})
	}
}

// found is nil if the check finds the breakage.
func found(c check, text string, b breakage) error {
	broken := strings.ReplaceAll(text, b.old, b.new)
	if broken == text {
		return fmt.Errorf("the template does not have that text any more; write a breakage that it has")
	}
	t, err := Parse([]byte(broken))
	if err != nil {
		return fmt.Errorf("the broken template cannot be read: %w", err)
	}
	if len(c.find(t)) == 0 {
		return fmt.Errorf("the check does not find it")
	}
	return nil
}
