package secret

// Stream redacts a text that comes in pieces, one of which may end in the middle of a value. Make
// one with [Values.Stream]. Not safe for concurrent use.
type Stream struct {
	values Values
	all    *index
	held   string
}

// Stream redacts one text.
func (v Values) Stream() *Stream { return &Stream{values: v, all: v.index()} }

// Next takes the next piece and returns what can be shown by now: all but an end in which a value
// may have begun.
func (s *Stream) Next(piece string) string {
	if len(s.values) == 0 {
		return piece
	}
	text := s.held + piece
	sure := cutEnd(s.all, text)
	s.held = text[len(sure):]
	return s.values.redact(s.all, sure)
}

// Rest returns what was held back: there is no more.
func (s *Stream) Rest() string {
	rest := s.values.redact(s.all, s.held)
	s.held = ""
	return rest
}
