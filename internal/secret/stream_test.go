package secret_test

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/secret"
)

var keys = secret.Values{"KEY": "sk-planted/7f31=", "OTHER": "open sesame"}

func TestAStreamIsRedactedWhereverItIsCut(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("user:sk-planted/7f31="))
	text := "the key sk-planted/7f31= and sk%2Dplanted%2F7f31%3D, open sesame, Basic " + encoded + ", sk-pla"
	whole := keys.Redact(text)
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 7))
		s, got := keys.Stream(), ""
		for rest := text; rest != ""; {
			n := min(1+random.IntN(9), len(rest))
			got += s.Next(rest[:n])
			rest = rest[n:]
			if strings.Contains(got, "planted/7f31") || strings.Contains(got, "sesame") || strings.Contains(got, "c2stcGxhbnRlZC83ZjMxP") {
				t.Fatalf("seed %d: shown: %q", seed, got)
			}
		}
		if got += s.Rest(); got != whole {
			t.Fatalf("seed %d: %q, want %q", seed, got, whole)
		}
	}
	if !strings.HasSuffix(whole, "sk-pla") || strings.Count(whole, "[secret KEY]") != 3 {
		t.Errorf("%q", whole)
	}
}

func TestAValueInBase64IsFoundWhateverStandsAroundIt(t *testing.T) {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		for _, around := range []string{"", "a", "ab", "abc", "user:", "Bearer "} {
			for _, behind := range []string{"", "x", "xy", "\n"} {
				text := encoding.EncodeToString([]byte(around + keys["KEY"] + behind))
				shown := keys.Redact("<" + text + ">")
				if !strings.Contains(shown, "[secret KEY]") || len(shown) > len("<[secret KEY]>")+(len(around)+len(behind)+2)*2 {
					t.Errorf("%q before and %q behind: %s is shown as %s", around, behind, text, shown)
				}
			}
		}
	}
}
