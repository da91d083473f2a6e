package dormouse_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// check is something that template.yaml must be and that cfn-lint does not look for. find says, each in a sentence, what is not so. A check that
// cannot fail is worth nothing, so each comes with ways to break the template, and must find every one.
type check struct {
	name   string
	find   func(template) []string
	breaks []breakage
}

// breakage replaces text in the template, wherever it is.
type breakage struct{ old, new string }

func stackChecks() []check {
	var all []check
	for _, group := range [][]check{queueChecks, functionChecks, environmentChecks, rightsChecks, tableChecks, httpChecks, alarmChecks, parameterChecks} {
		all = append(all, group...)
	}
	return all
}

func TestTheTemplateHoldsWhatLintDoesNotSee(t *testing.T) {
	text := readTemplate(t)
	real, err := parseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range stackChecks() {
		t.Run(c.name, func(t *testing.T) {
			for _, wrong := range c.find(real) {
				t.Error(wrong)
			}
			for _, b := range c.breaks {
				if err := found(c, text, b); err != nil {
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
	t, err := parseTemplate(broken)
	if err != nil {
		return fmt.Errorf("the broken template cannot be read: %w", err)
	}
	if len(c.find(t)) == 0 {
		return fmt.Errorf("the check does not find it")
	}
	return nil
}

// samconfig.toml is read by SAM alone, and there is no TOML reader here; what is asked of it can be seen line by line.
func TestSamconfigBuildsEverythingAndSetsWhatThereIs(t *testing.T) {
	bytes, err := os.ReadFile("samconfig.toml")
	if err != nil {
		t.Fatal(err)
	}
	real, err := parseTemplate(readTemplate(t))
	if err != nil {
		t.Fatal(err)
	}
	text := string(bytes)
	for _, wrong := range samconfigWrongs(text, real) {
		t.Error(wrong)
	}
	for _, b := range []breakage{{"cached = false", "cached = true"}, {`"LogLevel=INFO"`, `"LogLevels=INFO"`}, {`"Rollout=AllAtOnce"`, `"Rollout=Later"`},
		{`"DeletionProtection=true"`, `"DeletionProtection=false"`}, {"[prod.build.parameters]", "[prod.other.parameters]"}} {
		if len(samconfigWrongs(strings.ReplaceAll(text, b.old, b.new), real)) == 0 {
			t.Errorf("with %q in place of %q nothing is found", b.new, b.old)
		}
	}
}

var (
	samSection  = regexp.MustCompile(`(?ms)^\[(\w+)\.(\w+)\.parameters\]$(.*?)(?:^\[|\z)`)
	samOverride = regexp.MustCompile(`"(\w+)=([^"]*)"`)
)

func samconfigWrongs(text string, t template) (wrong []string) {
	sections := map[string]string{}
	for text != "" { // by hand: sections end where the next begins
		at := samSection.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		sections[text[at[2]:at[3]]+" "+text[at[4]:at[5]]] = text[at[6]:at[7]]
		text = text[at[7]:]
	}
	for _, stage := range []string{"default", "prod"} {
		if !strings.Contains(sections[stage+" build"], "\ncached = false") {
			wrong = append(wrong, stage+": build must say cached = false, or a change in internal/ is not deployed")
		}
		for _, o := range samOverride.FindAllStringSubmatch(sections[stage+" deploy"], -1) {
			wrong = append(wrong, overrideWrongs(stage, o[1], o[2], t)...)
		}
	}
	if !strings.Contains(sections["prod deploy"], `"DeletionProtection=true"`) {
		wrong = append(wrong, "prod: the table must be protected; set DeletionProtection=true")
	}
	return wrong
}

func overrideWrongs(stage, name, value string, t template) []string {
	if dig(t.root, "Parameters", name) == nil {
		return []string{stage + ": the template has no parameter " + name}
	}
	allowed := listOf(dig(t.root, "Parameters", name, "AllowedValues"))
	for _, one := range allowed {
		if fmt.Sprint(one) == value {
			return nil
		}
	}
	if len(allowed) > 0 {
		return []string{fmt.Sprintf("%s: %s cannot be %s, only one of %v", stage, name, value, allowed)}
	}
	return nil
}
