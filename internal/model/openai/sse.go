package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// bounds limit one answer, in bytes and calls.
type bounds struct {
	line  int // of one line of a stream
	wire  int // of an entire stream
	whole int // of a complete answer
	kept  int // of text, reasoning and arguments together
	calls int
}

// usual are the normal limits: a token takes a few hundred bytes of the stream and a few of the
// turn.
var usual = bounds{line: 8 << 20, wire: 256 << 20, whole: 32 << 20, kept: 16 << 20, calls: 256}

// errTooLong reports that an answer exceeds the limits.
var errTooLong = errors.New("openai: the answer is too long")

// event is one event of a stream.
type event struct {
	name string
	data []byte
}

// events reads a stream of server-sent events. Some endpoints omit the empty line between two
// events or after the last one: an event whose line of data is a complete JSON value counts as
// ended, because no prefix of an object is an object.
type events struct {
	in   *bufio.Reader
	most bounds
	read int
	name string
	data []byte
	any  bool // there is a line of data
	many bool // there are several
	held []byte
}

func newEvents(r io.Reader, most bounds) *events {
	return &events{in: bufio.NewReaderSize(r, 16<<10), most: most}
}

// next returns the next event with data, io.EOF at the end of a stream, and another error if the
// stream broke off.
func (e *events) next() (event, error) {
	for {
		line, err := e.line()
		if err != nil {
			if e.any && json.Valid(e.data) {
				return e.take(), nil // the next call returns the error again
			}
			return event{}, err
		}
		field, value := cutField(line)
		switch {
		case len(line) == 0 && e.any:
			return e.take(), nil
		case len(line) == 0:
			e.name = ""
		case field == "event":
			e.name = string(value[:min(len(value), 64)])
		// not for every further line, of which there may be millions
		case field == "data" && e.any && !e.many && json.Valid(e.data):
			whole := e.take()
			e.add(value)
			return whole, nil
		case field == "data":
			e.add(value)
		}
		if len(e.data) > e.most.line {
			return event{}, errTooLong
		}
	}
}

func (e *events) add(value []byte) {
	if e.many = e.any; e.any {
		e.data = append(e.data, '\n')
	}
	e.data, e.any = append(e.data, value...), true
}

func (e *events) take() event {
	out := event{e.name, e.data}
	e.name, e.data, e.any, e.many = "", nil, false, false
	return out
}

// line returns the next line without its end. The last line may lack an end; its JSON shows whether
// it is complete.
func (e *events) line() ([]byte, error) {
	e.held = e.held[:0]
	for {
		part, err := e.in.ReadSlice('\n')
		e.held = append(e.held, part...)
		if e.read += len(part); e.read > e.most.wire || len(e.held) > e.most.line {
			return nil, errTooLong
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(e.held) == 0:
			return nil, err
		}
		return bytes.TrimRight(e.held, "\r\n"), nil
	}
}

func cutField(line []byte) (field string, value []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(name) > 16 {
		return "", nil
	}
	return string(bytes.TrimPrefix(name, []byte("\ufeff"))), bytes.TrimPrefix(value, []byte(" "))
}
