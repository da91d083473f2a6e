package intake

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Line is one line of a file of messages.
type Line struct {
	Number int // from 1, blank ones counted
	// Body is the line without its end. If the line is longer than a message may be, it is a
	// prefix that is also too long.
	Body []byte
}

// Lines calls take for each line that is not blank, in order, until it returns an error. A line of
// any length needs no more memory than the longest message. A body is valid until take returns.
func Lines(r io.Reader, take func(Line) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	var body []byte
	for number := 1; ; number++ {
		var err error
		body, err = readLine(lines, body[:0])
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if trimmed := bytes.TrimRight(body, "\r\n"); len(bytes.TrimSpace(trimmed)) > 0 {
			if err := take(Line{number, trimmed}); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// readLine appends the next line, including its end, to body, and discards what exceeds the longest
// message by far.
func readLine(lines *bufio.Reader, body []byte) ([]byte, error) {
	for {
		piece, err := lines.ReadSlice('\n')
		if len(body) <= MaxBody+2 {
			body = append(body, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return body, err
		}
	}
}
