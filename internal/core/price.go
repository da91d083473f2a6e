package core

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
)

// USD is an amount of money in millionths of a dollar. As text and in JSON it is a decimal of
// dollars, such as 0.0123. No float stores or computes it.
type USD int64 // never negative

// oneDollar is a dollar in the unit of [USD].
const oneDollar = 1_000_000

// MostUSD is the largest amount that is counted. Larger sums stay at it.
const MostUSD = USD(math.MaxInt64 / 4)

// ParseUSD reads a decimal of dollars that is not negative, with at most six digits behind the
// point: 20, 0.5, 0.000001. It refuses signs, exponents and anything that would be rounded.
func ParseUSD(text string) (USD, error) {
	whole, fraction, point := strings.Cut(text, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	switch {
	case !digits(whole), point && !digits(fraction):
		return 0, errors.New("write an amount of dollars as a decimal, such as 0.50 or 20")
	case len(fraction) > 6:
		return 0, errors.New("an amount of dollars has at most six digits behind the point")
	case len(strings.TrimLeft(whole, "0")) > 9:
		return 0, errors.New("an amount is less than a billion dollars")
	}
	var n USD
	for _, digit := range whole + fraction + strings.Repeat("0", 6-len(fraction)) {
		n = n*10 + USD(digit-'0')
	}
	return n, nil
}

// String is the shortest decimal, with at least two digits behind the point.
func (u USD) String() string {
	fraction := strings.TrimRight(fmt.Sprintf("%06d", u%oneDollar), "0")
	return fmt.Sprintf("%d.%s", u/oneDollar, fraction+strings.Repeat("0", max(0, 2-len(fraction))))
}

func (u USD) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

func (u *USD) UnmarshalText(b []byte) error {
	n, err := ParseUSD(string(b))
	*u = n
	return err
}

// Plus is the sum, which never overflows.
func (u USD) Plus(more USD) USD { return min(u+min(more, MostUSD), MostUSD) }

// Times is u n times, which never overflows; n is not negative.
func (u USD) Times(n int) USD {
	if u > 0 && USD(n) > MostUSD/u {
		return MostUSD
	}
	return u * USD(n)
}

// Price is what a million tokens of a model cost. Input tokens that a cache gave or took have
// separate prices.
type Price struct {
	Input      USD `json:"input"`
	Output     USD `json:"output"`
	CacheRead  USD `json:"cache_read"`
	CacheWrite USD `json:"cache_write"`
}

// Of is what an answer of the model costs, rounded up to a millionth of a dollar; false if the
// provider did not say what it used. The provider reports the tokens, so negative numbers count as
// none, and what the cache gave or took is at most the input.
func (p Price) Of(t Turn) (cost USD, known bool) {
	if t.NoUsage {
		return 0, false
	}
	input, output := max(t.InputTokens, 0), max(t.OutputTokens, 0)
	read := min(max(t.CacheRead, 0), input)
	written := min(max(t.CacheWritten, 0), input-read)
	sum := new(big.Int)
	for _, part := range []struct {
		tokens int64
		each   USD
	}{{input - read - written, p.Input}, {read, p.CacheRead}, {written, p.CacheWrite}, {output, p.Output}} {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(part.tokens), big.NewInt(int64(part.each))))
	}
	sum.Add(sum, big.NewInt(oneDollar-1)).Quo(sum, big.NewInt(oneDollar))
	if !sum.IsInt64() || sum.Int64() > int64(MostUSD) {
		return MostUSD, true
	}
	return USD(sum.Int64()), true
}

// Cost is what something cost, as events and callers say it.
type Cost struct {
	USD USD `json:"usd"`
}
