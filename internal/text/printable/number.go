package printable

import (
	"cmp"
	"strconv"
	"strings"
)

// mostZeros bounds the digits that plainNumber writes for a power of ten. Larger and smaller
// numbers are described in words.
const mostZeros = 60

// plainNumber returns a JSON number without its power of ten: 1500 for 1.5e3. ok is false if the
// number has no power of ten.
func plainNumber(text string) (plain string, ok bool) {
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return "", false
	}
	sign, digits := "", text[:at]
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = whole + fraction
	if strings.Trim(digits, "0") == "" {
		return sign + "0", true
	}
	power, err := strconv.Atoi(text[at+1:])
	point := len(whole) + power // how many digits are before the point
	begins := len(digits) - len(strings.TrimLeft(digits, "0"))
	if err != nil || point-begins > mostZeros || point < -mostZeros {
		return powerInWords(sign, text[at+1:]), true
	}
	return sign + shifted(digits, point), true
}

// shifted puts the decimal point after the given number of digits.
func shifted(digits string, point int) string {
	if point <= 0 {
		digits, point = strings.Repeat("0", 1-point)+digits, 1
	}
	if point >= len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	whole := strings.TrimLeft(digits[:point], "0")
	if whole == "" {
		whole = "0"
	}
	if fraction := strings.TrimRight(digits[point:], "0"); fraction != "" {
		return whole + "." + fraction
	}
	return whole
}

func powerInWords(sign, power string) string {
	if strings.HasPrefix(power, "-") {
		return "nearly nothing: " + sign + "0 with more than " + strconv.Itoa(mostZeros) + " zeros behind the point"
	}
	return map[string]string{"": "a number", "-": "a negative number"}[sign] + " with more than " + strconv.Itoa(mostZeros) + " digits before the point"
}

// precise is the number of significant digits that most programs keep.
const precise = 15

// numberNotes returns what a person may miss in a JSON number: its power of ten, a minus before
// zero, digits that get lost.
func numberNotes(text string) (notes []string, warnings []Warning) {
	if plain, ok := plainNumber(text); ok {
		warnings = append(warnings, Warning{"power_of_ten", "Written with a power of ten. In full it is " + plain + "."})
	}
	if strings.HasPrefix(text, "-") && strings.Trim(strings.TrimLeft(text, "-"), "0.") == "" {
		notes = append(notes, "minus zero")
	}
	digits, _, _ := strings.Cut(strings.ToLower(text), "e")
	if n := len(strings.Trim(strings.NewReplacer(".", "", "-", "").Replace(digits), "0")); n > precise {
		warnings = append(warnings, Warning{"many_digits", "Has more digits than many programs keep: those after the first " + strconv.Itoa(precise) + " may be lost."})
	}
	return notes, warnings
}

// readsLikeNumber reports whether a text could be mistaken for a number: it consists of digits of
// any script and of the signs that numbers contain.
func readsLikeNumber(text string) bool {
	digits := false
	for c := range charsOf(text) {
		r := cmp.Or(looksLike(c.r), c.r)
		switch {
		case isDigit(c.r) || isDigit(r):
			digits = true
		case !strings.ContainsRune("+-−.,'’ \u00a0\u202f_eE%", r):
			return false
		}
	}
	return digits
}
