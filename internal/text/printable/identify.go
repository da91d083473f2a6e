package printable

import (
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// textNotes notes that a text could be mistaken for a value of another type.
func textNotes(text string) (notes []string) {
	switch bare := strings.TrimSpace(text); {
	case strings.EqualFold(bare, "true"), strings.EqualFold(bare, "false"), strings.EqualFold(bare, "null"):
		notes = append(notes, "text, not a value of another type")
	case readsLikeNumber(text):
		notes = append(notes, "text, not a number")
	}
	return notes
}

var iban = lazyregexp.New(`^[A-Z]{2}[0-9O]{2}[A-Z0-9]{11,30}$`)

// misprinted reports whether a text has the form of an IBAN and wrong check digits.
func misprinted(text string) bool {
	account := strings.ReplaceAll(text, " ", "")
	if !iban.MatchString(account) {
		return false
	}
	rest := 0
	for _, c := range account[4:] + account[:4] {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return rest != 1
}

var (
	address = lazyregexp.New(`^([A-Za-z][A-Za-z0-9+.-]*)://([^/?#\\\s]*)`)
	script  = lazyregexp.New(`(?i)^[\s\x00-\x20]*(javascript|data|vbscript)\s*:`)
)

// identify marks the host in a text that is a URL, and warns about misleading URLs and account
// numbers.
func identify(text string, s *Spelled) {
	if misprinted(text) {
		s.warn("check_digits", "Has the form of a bank account number (IBAN), and the check digits are wrong.")
	}
	if script.MatchString(text) {
		s.warn("address", "An address of this kind runs as a program where it is opened.")
	}
	at := address.FindStringSubmatchIndex(text)
	if at == nil {
		return
	}
	begin, end := at[4], at[5]
	if user := strings.LastIndex(text[begin:end], "@"); user >= 0 {
		begin += user + 1
		s.warn("address", "The part before the @ in this address is a user name. The address leads to the host behind it.")
	}
	if strings.Contains(strings.ToLower(text[begin:end]), "xn--") {
		s.warn("address", "The host of this address is written in a code for other alphabets (xn--).")
	}
	s.host(begin, end)
}

func (s *Spelled) warn(code, text string) {
	s.Warnings = append(s.Warnings, Warning{code, text})
}

// host marks the plain parts between two places in the text.
func (s *Spelled) host(begin, end int) {
	var parts []Part
	at := 0
	for _, p := range s.Parts {
		from, to := min(max(begin-at, 0), len(p.Text)), min(max(end-at, 0), len(p.Text))
		at += len(p.Text)
		if p.Kind != Plain || from >= to {
			parts = append(parts, p)
			continue
		}
		for _, piece := range []Part{{Text: p.Text[:from]}, {Kind: Host, Text: p.Text[from:to]}, {Text: p.Text[to:]}} {
			if piece.Text != "" {
				parts = append(parts, piece)
			}
		}
	}
	s.Parts = parts
}
