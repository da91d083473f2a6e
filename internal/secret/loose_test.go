package secret

import (
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// loose are secrets as services have them. The last one has as few letters and digits as are looked
// for loosely.
var loose = []string{"supersecretvalue123456", "Bearer SUPERSECRET-0001", "sk_live_51H-abc.DEF~", "aB3+xY9/Zk7q==", "!#a1b2c3d4~$"}

func between(with string) func(string) string {
	return func(text string) string { return strings.Join(strings.Split(text, ""), with) }
}

func backwards(text string) string {
	b := []byte(text)
	slices.Reverse(b)
	return string(b)
}

func inHex(text string) string { return hex.EncodeToString([]byte(text)) }

// pairs puts something between the bytes of a hexadecimal text.
func pairs(with string) func(string) string {
	return func(text string) string {
		var all []string
		for pair := range slices.Chunk([]byte(text), 2) {
			all = append(all, string(pair))
		}
		return strings.Join(all, with)
	}
}

var disguised = map[string]func(string) string{
	"upper case": strings.ToUpper, "lower case": strings.ToLower,
	"dashes": between("-"), "dots": between("."), "blanks": between(" "), "lines": between("\n"), "a list": between(`", "`),
	"zero width": between("\u200b"), "dashes and upper case": both(strings.ToUpper, between("-")),
	"in hexadecimal": inHex, "in upper hexadecimal": both(inHex, strings.ToUpper), "hexadecimal with blanks": both(inHex, pairs(" ")),
	"hexadecimal with colons": both(both(inHex, strings.ToUpper), pairs(":")),
	"backwards":               backwards, "backwards in upper case": both(backwards, strings.ToUpper), "backwards with dots": both(backwards, between(".")),
	"upper case in JSON": both(strings.ToUpper, inJSON),
}

func TestASecretIsFoundBehindCaseHexAndSeparators(t *testing.T) {
	for name, disguise := range disguised {
		for _, value := range loose {
			got := Values{"TOKEN": value}.Redact("<< " + disguise(value) + " >>")
			if left := reduce(nil, strings.ReplaceAll(got, "[secret TOKEN]", "")); !strings.Contains(got, "[secret TOKEN]") || len(left) > 0 {
				t.Errorf("%s of %s: %s", name, value, got)
			}
			if again := (Values{"TOKEN": value}).Redact(got); again != got {
				t.Errorf("%s of %s, twice: %s", name, value, again)
			}
			if !(Values{"TOKEN": value}).In(disguise(value)) {
				t.Errorf("%s of %s is not seen", name, value)
			}
		}
	}
}

// TestADisguisedSecretIsFoundInAStream: as in the whole text, wherever it is cut.
func TestADisguisedSecretIsFoundInAStream(t *testing.T) {
	all := Values{}
	for i, value := range loose {
		all[string(rune('A'+i))] = value
	}
	for name, disguise := range disguised {
		text := "so "
		for _, value := range loose {
			text += "it is " + disguise(value) + ", or " + value + "; "
		}
		whole := all.Redact(text)
		for seed := range uint64(40) {
			random := rand.New(rand.NewPCG(seed, 3))
			s, got := all.Stream(), ""
			for rest := text; rest != ""; {
				n := min(1+random.IntN(12), len(rest))
				got += s.Next(rest[:n])
				rest = rest[n:]
			}
			if got += s.Rest(); got != whole {
				t.Fatalf("%s, seed %d:\n%s\nwant\n%s", name, seed, got, whole)
			}
		}
	}
}

// TestADisguisedSecretThatIsCutLeavesNothing of its letters and digits.
func TestADisguisedSecretThatIsCutLeavesNothing(t *testing.T) {
	for name, disguise := range disguised {
		for _, value := range loose {
			shown := disguise(value)
			for n := 1; n < len(shown); n++ {
				s := Values{"TOKEN": value}
				got := s.Redact(s.CutEnd("<< " + shown[:n]))
				if left := reduce(nil, strings.ReplaceAll(got, "[secret TOKEN]", "")); len(left) > 0 {
					t.Errorf("%s of %s, cut at %d: %s", name, value, n, got)
				}
			}
		}
	}
}

func TestWhatIsShortOrFarApartIsNotFoundLoosely(t *testing.T) {
	for value, texts := range map[string][]string{
		"nobody":       {"Nobody", "no-body", "6e6f626f6479", "ydobon"},
		"pa55w0r":      {"PA55W0R", "p a 5 5 w 0 r", "r0w55ap"},
		"--12345--":    {"1 2 3 4 5", "12345", "54321"},
		"a1b2c3d4e5f6": {"a1" + strings.Repeat(" ", mostBetween+1) + "b2c3d4e5f6", "a1b2c3x4e5f6", "a1b2c3"},
	} {
		for _, text := range texts {
			if got := (Values{"K": value}).Redact(text); got != text {
				t.Errorf("%s in %q: %q", value, text, got)
			}
		}
	}
}

// TestNothingInOrdinaryTextIsTakenForASecret: the pages of this project hold prose, programs,
// tables, digests and many a number.
func TestNothingInOrdinaryTextIsTakenForASecret(t *testing.T) {
	files, err := filepath.Glob("../../docs/*/*.md")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	values := Values{"PIN": "48151623", "WORDS": "correct horse battery staple", "PASS": "hunter2hunter2"}
	for i := range 50 {
		var value []byte
		for range 8 + i%25 {
			value = append(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[random.IntN(62)])
		}
		values[string(rune('a'+i))] = string(value)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := values.Redact(string(text)); got != string(text) {
			t.Errorf("%s is changed", file)
		}
	}
}
