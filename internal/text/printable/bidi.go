package printable

// rightToLeft says whether a character is of a block whose letters are written from right to left:
// strong, in the words of UAX 9, so that it reorders what is around it. Digits and accents of
// these scripts are not.
func rightToLeft(r rune) bool {
	switch {
	case r < 0x590:
		return false
	case isMark(r) || isDigit(r):
		return false
	}
	return r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff || r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff
}

// direction is how a character takes part in the order of a line.
type direction int

const (
	neutral direction = iota // takes the direction of what is around it
	left                     // from left to right: letters, and digits of every script
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

// order takes a text apart where its direction changes, if it does and has any from right to left.
// What is neutral stays with what is before it.
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
