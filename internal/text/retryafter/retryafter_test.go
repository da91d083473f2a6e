package retryafter_test

import (
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/text/retryafter"
)

var now = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"7":                             7 * time.Second,
		" 7 ":                           7 * time.Second,
		"0.5":                           500 * time.Millisecond,
		"86400":                         24 * time.Hour,
		"86401":                         24 * time.Hour,
		"99999999999999999999":          0,
		"1.2.3":                         0,
		".":                             0,
		"-5":                            0,
		"+5":                            0,
		"1h":                            0,
		"7 seconds":                     0,
		"soon":                          0,
		"Sat, 21 Nov 2026 08:00:40 GMT": 40 * time.Second,
		"Sat, 21 Nov 2026 07:00:00 GMT": 0,
		"Sat, 21 Nov 2099 08:00:00 GMT": 24 * time.Hour,
	} {
		if got := retryafter.Parse(value, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("7")
	f.Add("Sat, 21 Nov 2026 08:00:40 GMT")
	f.Fuzz(func(t *testing.T, value string) {
		if got := retryafter.Parse(value, now); got < 0 || got > retryafter.Most {
			t.Errorf("%q: %s", value, got)
		}
	})
}
