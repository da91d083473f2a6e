package printable

import (
	"cmp"
	"strconv"
	"strings"
)

// mostZeros bounds how many digits a power of ten is written out to. Beyond it words say how large
// it is.
const mostZeros = 60

// plainNumber is a number of JSON without its power of ten: 1.5e3 is 1500. ok is false if it has
// none.
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

// shifted puts the point behind so many digits.
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

// precise is how many digits most programs keep of a number.
const precise = 15

// numberNotes say of a number of JSON what its digits alone do not.
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

// readsLikeNumber says whether a text could be taken for a number: digits of any script, with
// nothing but signs between them.
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
