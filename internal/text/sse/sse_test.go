package sse_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dormouse-dev/dormouse/internal/text/sse"
)

func TestMessagesAreReadFromAStream(t *testing.T) {
	for name, tt := range map[string]struct {
		stream string
		want   []string
	}{
		"a message":                     {"id: 1\nevent: run.status\ndata: {}\n\n", []string{"1 run.status {}"}},
		"without blanks, with CRLF":     {"id:1\r\ndata:a\r\n\r\n", []string{"1  a"}},
		"several lines of data":         {"data: a\ndata: b\n\n", []string{"  a\nb"}},
		"empty data":                    {"data\n\n", []string{"  "}},
		"a comment keeps it alive":      {": ping\n\n", nil},
		"no data":                       {"id: 1\n\n", nil},
		"an id is that of one message":  {"id: 1\ndata: a\n\ndata: b\n\n", []string{"1  a", "  b"}},
		"an unknown field":              {"retry: 3\ndata: a\n\n", []string{"  a"}},
		"cut off after a whole message": {"data: a\n\ndata: b\n", []string{"  a"}},
		"cut off in a line":             {"data: a\n\ndata: b", []string{"  a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			lines := 0
			err := sse.Read(iotest.OneByteReader(strings.NewReader(tt.stream)), 100, func() { lines++ }, func(m sse.Message) error {
				got = append(got, m.ID+" "+m.Event+" "+string(m.Data))
				return nil
			})
			if err != nil || !slices.Equal(got, tt.want) || lines != strings.Count(tt.stream, "\n") {
				t.Errorf("%q, %d lines, %v; want %q", got, lines, err, tt.want)
			}
		})
	}
}

func TestAStreamIsBoundedAndMayBreak(t *testing.T) {
	broke, enough := errors.New("reset"), errors.New("enough")
	for name, tt := range map[string]struct {
		stream io.Reader
		want   error
	}{
		"a long line":               {strings.NewReader("data: " + strings.Repeat("a", 200)), sse.ErrTooLong},
		"many lines":                {strings.NewReader(strings.Repeat("data: aaaaaaaaaa\n", 20)), sse.ErrTooLong},
		"a reader that fails":       {io.MultiReader(strings.NewReader("data: a\n"), iotest.ErrReader(broke)), broke},
		"a message that is refused": {strings.NewReader("data: a\n\ndata: b\n\n"), enough},
	} {
		t.Run(name, func(t *testing.T) {
			err := sse.Read(tt.stream, 100, func() {}, func(sse.Message) error { return enough })
			if !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if _, is := errors.AsType[*sse.ReadError](err); is != (tt.want == broke) {
				t.Errorf("%v is a ReadError: %v", err, is)
			}
		})
	}
}
