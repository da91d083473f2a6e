// Package sse reads streams of server-sent events.
package sse

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// Message is one event of a stream.
type Message struct {
	ID, Event string
	Data      []byte
}

// ErrTooLong is returned for a message with more data, or a line, than the reader takes.
var ErrTooLong = errors.New("sse: a message is too long")

// ReadError is a stream that broke. An end of the stream is no error, wherever it comes.
type ReadError struct{ Err error }

func (e *ReadError) Error() string { return "sse: the stream broke: " + e.Err.Error() }

func (e *ReadError) Unwrap() error { return e.Err }

// Read passes each complete message with data to each, and drops one that is cut off. It calls
// alive at each line, and holds at most about twice most bytes. An error of each ends it.
func Read(stream io.Reader, most int, alive func(), each func(Message) error) error {
	lines := bufio.NewReaderSize(stream, 64<<10)
	var m Message
	hasData := false
	for {
		line, err := readLine(lines, most)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		alive()
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimPrefix(value, " "); name {
		case "id":
			m.ID = value
		case "event":
			m.Event = value
		case "data":
			if hasData {
				m.Data = append(m.Data, '\n')
			}
			if m.Data, hasData = append(m.Data, value...), true; len(m.Data) > most {
				return ErrTooLong
			}
		}
		if line != "" {
			continue
		}
		if hasData {
			if err := each(m); err != nil {
				return err
			}
		}
		m, hasData = Message{}, false
	}
}

// readLine reads a line with its end.
func readLine(from *bufio.Reader, most int) (string, error) {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		if len(line)+len(part) > most {
			return "", ErrTooLong
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return string(line), nil
		case errors.Is(err, io.EOF):
			return "", io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", &ReadError{err}
		}
	}
}
