package printable

// rightToLeft reports whether a character is in a block of right-to-left scripts and reorders its
// neighbors: it is strong in the terms of UAX 9. Digits and accents of these scripts are not
// strong.
func rightToLeft(r rune) bool {
	switch {
	case r < 0x590:
		return false
	case isMark(r) || isDigit(r):
		return false
	}
	return r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff || r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}

// direction is the effect of a character on the order of a line.
type direction int

const (
	neutral direction = iota // takes the direction of its neighbors
	left                     // left-to-right letters, and digits of every script
	right
)

func directionOf(c char) direction {
	switch {
	case rightToLeft(c.r):
		return right
	case isLetter(c.r) || isDigit(c.r) || isNumber(c.r):
		return left
	}
	return neutral
}

// order splits the text where its direction changes, or returns nil if it never does. A neutral
// character belongs to the piece before it.
func (s *speller) order() (pieces [][]Part) {
	begin, now := 0, neutral
	for i, c := range s.chars {
		d := directionOf(c)
		if s.marks[i].Kind == Chip {
			d = neutral
		}
		if d == neutral || d == now {
			continue
		}
		if now != neutral {
			pieces = append(pieces, s.parts(begin, i))
			begin = i
		}
		now = d
	}
	if pieces == nil {
		return nil
	}
	return append(pieces, s.parts(begin, len(s.chars)))
}
