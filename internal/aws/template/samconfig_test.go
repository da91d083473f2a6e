package template

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// samconfig.toml is read by SAM alone, and there is no TOML reader here; what is asked of it can be
// seen line by line.
func TestSamconfigBuildsEverythingAndSetsWhatThereIs(t *testing.T) {
	bytes, err := os.ReadFile(root + "samconfig.toml")
	if err != nil {
		t.Fatal(err)
	}
	real, err := Parse(readTemplate(t))
	if err != nil {
		t.Fatal(err)
	}
	text := string(bytes)
	for _, wrong := range samconfigWrongs(text, real) {
		t.Error(wrong)
	}
	for _, b := range []breakage{{"cached = false", "cached = true"}, {`"LogLevel=INFO"`, `"LogLevels=INFO"`}, {`"Rollout=AllAtOnce"`, `"Rollout=Later"`},
		{`"DeletionProtection=true"`, `"DeletionProtection=false"`}, {"[prod.build.parameters]", "[prod.other.parameters]"},
		{`stage=prod`, `team=prod`}} {
		if len(samconfigWrongs(strings.ReplaceAll(text, b.old, b.new), real)) == 0 {
			t.Errorf("with %q in place of %q nothing is found", b.new, b.old)
		}
	}
}

var (
	samSection  = regexp.MustCompile(`(?ms)^\[(\w+)\.(\w+)\.parameters\]$(.*?)(?:^\[|\z)`)
	samOverride = regexp.MustCompile(`"(\w+)=([^"]*)"`)
)

func samconfigWrongs(text string, t Template) (wrong []string) {
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
		if !strings.Contains(sections[stage+" deploy"], "\ntags = \"application=dormouse stage=") {
			wrong = append(wrong, stage+": deploy must tag the resources")
		}
		_, overrides, _ := strings.Cut(sections[stage+" deploy"], "parameter_overrides = [")
		for _, o := range samOverride.FindAllStringSubmatch(overrides, -1) {
			wrong = append(wrong, overrideWrongs(stage, o[1], o[2], t)...)
		}
	}
	if !strings.Contains(sections["prod deploy"], `"DeletionProtection=true"`) {
		wrong = append(wrong, "prod: the table must be protected; set DeletionProtection=true")
	}
	return wrong
}

func overrideWrongs(stage, name, value string, t Template) []string {
	p, there := t.Parameter(name)
	if !there {
		return []string{stage + ": the template has no parameter " + name}
	}
	for _, one := range p.AllowedValues {
		if fmt.Sprint(one) == value {
			return nil
		}
	}
	if len(p.AllowedValues) > 0 {
		return []string{fmt.Sprintf("%s: %s cannot be %s, only one of %v", stage, name, value, p.AllowedValues)}
	}
	return nil
}
