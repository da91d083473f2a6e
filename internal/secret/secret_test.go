package secret_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/secret"
)

func environment(pairs ...string) secret.Source {
	set := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		set[pairs[i]] = pairs[i+1]
	}
	return secret.Environment(func(name string) string { return set[name] })
}

func TestTheEnvironmentHasSecretsUnderTheirVariables(t *testing.T) {
	source := environment("DORMOUSE_SECRET_TOKEN", "s3cret", "TOKEN2", "other")
	if value, err := source(t.Context(), "TOKEN"); value != "s3cret" || err != nil {
		t.Errorf("%q, %v", value, err)
	}
	if value, err := source(t.Context(), "TOKEN2"); value != "" || !errors.Is(err, secret.ErrNotSet) {
		t.Errorf("%q, %v", value, err)
	}
}

// broken is a source whose own words must not be shown.
func broken(context.Context, string) (string, error) { return "", errors.New("internal words") }

func TestTheSecondSourceIsAskedForWhatTheFirstDoesNotHave(t *testing.T) {
	first, second := environment("DORMOUSE_SECRET_A", "one"), environment("DORMOUSE_SECRET_A", "two", "DORMOUSE_SECRET_B", "two")
	for name, want := range map[string]string{"A": "one", "B": "two"} {
		if got, err := first.Or(second)(t.Context(), name); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := secret.Source(broken).Or(second)(t.Context(), "B"); err == nil {
		t.Error("the second is asked though the first could not tell")
	}
}

func TestSeveralSecretsAreThereOrTheErrorNamesTheOneThatIsNot(t *testing.T) {
	source := environment("DORMOUSE_SECRET_A", "value-a", "DORMOUSE_SECRET_B", "value-b", "DORMOUSE_SECRET_LINE", "value\nline", "DORMOUSE_SECRET_UMLAUT", "valué")
	got, err := source.Values(t.Context(), []string{"A", "B"})
	if err != nil || len(got) != 2 || got["A"] != "value-a" || got["B"] != "value-b" {
		t.Errorf("%v, %v", got, err)
	}
	for _, tt := range []struct {
		source secret.Source
		name   string
		is     error
		says   string
	}{
		{source, "C", secret.ErrNotSet, "the secret C is not set"},
		{source, "LINE", nil, "the secret LINE cannot be sent because it is not one line"},
		{source, "UMLAUT", nil, "the secret UMLAUT cannot be sent"},
		{broken, "A", secret.ErrUnavailable, "the lookup of the secret A failed; try again later"},
	} {
		got, err := tt.source.Values(t.Context(), []string{tt.name})
		if err == nil || got != nil || !strings.HasPrefix(err.Error(), tt.says) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
		if err != nil && (strings.Contains(err.Error(), "internal words") || strings.Contains(err.Error(), "valu")) {
			t.Errorf("%s: the error says too much: %v", tt.name, err)
		}
	}
}

func TestAProcessKnowsWhatItWasGivenAndItsOwnCredentials(t *testing.T) {
	values := map[string]string{"DORMOUSE_SECRET_TOKEN": "first-value", "DORMOUSE_SECRET_PIN": "1234"}
	kept := secret.Keep(secret.Environment(func(name string) string { return values[name] }), secret.Values{"AWS_SECRET_ACCESS_KEY": "role-secret"})
	if got := kept.Values().Redact("first-value role-secret"); got != "first-value [secret AWS_SECRET_ACCESS_KEY]" {
		t.Errorf("before it was asked for: %s", got)
	}
	for _, name := range []string{"TOKEN", "PIN", "NONE"} {
		_, _ = kept.Source(t.Context(), name)
	}
	values["DORMOUSE_SECRET_TOKEN"] = "second-value"
	if got := kept.Values().Redact("first-value 1234"); got != "[secret TOKEN] 1234" {
		t.Errorf("after it was asked for: %s", got)
	}
	if _, err := kept.Source(t.Context(), "TOKEN"); err != nil {
		t.Fatal(err)
	}
	if got := kept.Values().Redact("second-value"); got != "[secret TOKEN]" {
		t.Errorf("after it changed: %s", got)
	}
}

func TestAValueBeyondASCIIIsTakenOutAsItIs(t *testing.T) {
	if got := (secret.Values{"K": "größe-1"}).Redact(`<größe-1> gr\u00f6`); got != `<[secret K]> gr\u00f6` {
		t.Error(got)
	}
}
