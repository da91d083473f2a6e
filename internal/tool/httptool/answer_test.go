package httptool

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

func body(media, text string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if media != "" {
			w.Header().Set("Content-Type", media)
		}
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		_, _ = w.Write([]byte(text))
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

func TestWhatTheModelSeesOfAnAnswer(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"text as it is", body("text/plain", "a <b>\n c"), "a <b>\n c"},
		{"JSON without its blanks, every digit kept", body("application/json; charset=utf-8", "{\n \"a\": 1.50,\n \"b\": 12345678901234567890 }"), `{"a":1.50,"b":12345678901234567890}`},
		{"JSON that is none", body("application/json", "{oops"), "{oops"},
		{"JSON of a vendor", body("application/vnd.api+json", "[ 1 ]"), "[1]"},
		{"text without a type", body("", "hello"), "hello"},
		{"bytes without a type", body("", "\x00\x01\xff"), "The service answered 200 OK with bytes that are not text, which cannot be shown."},
		{"an image", body("image/png", "\x89PNG"), "The service answered 200 OK with image/png, which cannot be shown."},
		{"bytes that are no UTF-8", body("text/plain", "a\xffb"), "a\uFFFDb"},
		{"text of Western Europe", body("text/plain; charset=ISO-8859-1", "\xa3100, caf\xe9"), "£100, café"},
		{"UTF-8 that is called something else", body("text/plain; charset=iso-8859-1", "£100"), "£100"},
		{"another character set", body("text/plain; charset=windows-1251", "\xcf\xf0\xe8"),
			"The service answered 200 OK with text/plain in an unsupported character set (windows-1251), which cannot be shown."},
		{"UTF-16", body("application/json; charset=utf-16", "\"\x00h\x00i\x00\"\x00"),
			"The service answered 200 OK with application/json in an unsupported character set (utf-16), which cannot be shown."},
		{"UTF-16 that nobody speaks of", body("text/plain", "h\x00i\x00"), "The service answered 200 OK with text/plain in an unsupported character set, which cannot be shown."},
		{"a type without end", body("application/"+strings.Repeat("x", 5000), "a"),
			"The service answered 200 OK with application/" + strings.Repeat("x", 68) + ", which cannot be shown."},
		{"nothing", status(204), "The service answered 204 No Content, without text."},
		{"an encoding nobody asked for", body("text/plain", zipped(strings.Repeat("a", 1<<20)), "Content-Encoding", "gzip"),
			"The service answered 200 OK with an encoding that was not requested (gzip), which cannot be shown."},
		{"too long", body("text/plain", strings.Repeat("ä", 40<<10)), strings.Repeat("ä", 32<<10) + "\n(The answer was cut off here because it is longer than 65536 bytes.)"},
		{"exactly as long as may be", body("text/plain", strings.Repeat("a", 64<<10)), strings.Repeat("a", 64<<10)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.serve(publicAddress+":443", tt.answer)
			if out := w.call(look, `{"order":"1"}`); out.Failed || out.Text != tt.want {
				t.Errorf("outcome %.300q (failed: %v), want %.300q", out.Text, out.Failed, tt.want)
			}
		})
	}
}

func TestAnAnswerThatIsCutInTheMiddleOfACharacterIsLeftOut(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", body("text/plain", "a"+strings.Repeat("ä", 10)))
	out := w.call(strings.Replace(look, "http: {", "http: {max_bytes: 4, ", 1), `{"order":"1"}`)
	if !strings.HasPrefix(out.Text, "aä\n(The answer was cut off here") || !utf8.ValidString(out.Text) {
		t.Errorf("outcome %q", out.Text)
	}
}

func TestAFailureShowsOnlyTheBeginning(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", answering(400, strings.Repeat("ä", 5000)))
	if out := w.call(look, `{"order":"1"}`); !out.Failed || len(out.Text) > remote.MostShown+100 || !strings.HasSuffix(out.Text, "ä...") {
		t.Errorf("outcome of %d bytes: %.100q", len(out.Text), out.Text)
	}
}

func TestHeadersWithoutEndAreNotRead(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", body("text/plain", "hello", "X-Long", strings.Repeat("x", 2*64<<10)))
	if out := w.call(look, `{"order":"1"}`); !out.Failed {
		t.Errorf("outcome %.200q", out.Text)
	}
}

func TestHEADTellsWhatThereIs(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", body("text/csv", "", "Content-Length", "1234"))
	out := w.call(`  - {name: x, http: {method: HEAD, url: "https://api.example.com/f"}, parameters: {type: object}}`, `{}`)
	if want := "The service answered 200 OK, type text/csv, 1234 bytes."; out.Failed || out.Text != want {
		t.Errorf("outcome %+v", out)
	}
}

func TestAServiceThatWantsAnotherProtocolIsNotListenedTo(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", status(101, "Connection", "Upgrade", "Upgrade", "x"))
	if out := w.call(look, `{"order":"1"}`); !out.Failed || !strings.HasPrefix(out.Text, "The service answered 101") {
		t.Errorf("outcome %+v", out)
	}
}
