package core

import (
	"encoding/json"
	"math"
	"testing"
)

func TestUSD(t *testing.T) {
	for text, want := range map[string]USD{"0": 0, "0.5": 500_000, "0.50": 500_000, "20": 20_000_000, "0.000001": 1, "1.234567": 1_234_567,
		"999999999.999999": 999_999_999_999_999, "007": 7_000_000} {
		if got, err := ParseUSD(text); got != want || err != nil {
			t.Errorf("%q is read as %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".", ".5", "5.", "-1", "+1", "1e3", "0.0000001", "1,5", "$1", " 1", "NaN", "1000000000", "0x1", "1.2.3", "١"} {
		if got, err := ParseUSD(text); err == nil {
			t.Errorf("%q is taken as %d", text, got)
		}
	}
	for n, want := range map[USD]string{0: "0.00", 1: "0.000001", 500_000: "0.50", 12_300: "0.0123", 20_000_000: "20.00", 1_234_560: "1.23456", 100: "0.0001"} {
		if got := n.String(); got != want {
			t.Errorf("%d is shown as %s, want %s", n, got, want)
		}
	}
	var back USD
	if err := json.Unmarshal(Encode(USD(12_300)), &back); err != nil || back != 12_300 {
		t.Errorf("came back as %d, %v", back, err)
	}
}

func TestThePriceOfATurn(t *testing.T) {
	p := Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000}
	for name, tt := range map[string]struct {
		turn  Turn
		want  USD
		known bool
	}{
		"input and output":              {Turn{InputTokens: 1000, OutputTokens: 200}, 6000, true},
		"a cache":                       {Turn{InputTokens: 1000, CacheRead: 600, CacheWritten: 300, OutputTokens: 0}, 300 + 180 + 1125, true},
		"a part of a millionth":         {Turn{InputTokens: 1, CacheRead: 1}, 1, true},
		"nothing used":                  {Turn{}, 0, true},
		"no usage":                      {Turn{NoUsage: true}, 0, false},
		"negative numbers":              {Turn{InputTokens: -5, OutputTokens: -5, CacheRead: -5, CacheWritten: -5}, 0, true},
		"more from the cache than read": {Turn{InputTokens: 10, CacheRead: 1000, CacheWritten: 1000}, 3, true},
		"more than can be counted":      {Turn{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64}, MostUSD, true},
	} {
		if got, known := p.Of(tt.turn); got != tt.want || known != tt.known {
			t.Errorf("%s costs %d (%v), want %d (%v)", name, got, known, tt.want, tt.known)
		}
	}
	if MostUSD.Plus(MostUSD) != MostUSD || USD(3).Plus(4) != 7 || MostUSD.Times(5) != MostUSD || USD(3).Times(2) != 6 || USD(0).Times(9) != 0 {
		t.Error("sums overflow")
	}
}
