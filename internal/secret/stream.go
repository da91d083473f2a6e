package secret

// Stream redacts a text that arrives in pieces; a piece may end in the middle of a value. Make one
// with [Values.Stream]. It is not safe for concurrent use.
type Stream struct {
	values Values
	all    *index
	held   string
}

// Stream returns a stream for one text.
func (v Values) Stream() *Stream { return &Stream{values: v, all: v.index()} }

// Next takes the next piece and returns what can be shown so far: everything except an end in which
// a value may have begun.
func (s *Stream) Next(piece string) string {
	if len(s.values) == 0 {
		return piece
	}
	text := s.held + piece
	sure := cutEnd(s.all, text)
	s.held = text[len(sure):]
	return s.values.redact(s.all, sure)
}

// Rest returns what was held back, at the end of the text.
func (s *Stream) Rest() string {
	rest := s.values.redact(s.all, s.held)
	s.held = ""
	return rest
}
