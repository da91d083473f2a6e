package httptool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// answer is what a service answered, as much of it as is read.
type answer struct {
	status   int
	media    string // the type of the body, without parameters
	charset  string // as it was said
	encoding string
	location string
	wait     string // the header Retry-After
	length   int64  // -1: not known
	body     []byte
	most     int64
	cut      bool  // there was more
	broken   error // the body ended too early
}

// read reads no more than most bytes of the body.
func read(resp *http.Response, most int64) *answer {
	a := &answer{status: resp.StatusCode, most: most, location: resp.Header.Get("Location"), wait: resp.Header.Get("Retry-After"), length: resp.ContentLength,
		encoding: strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))}
	media, parameters, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	a.media, a.charset = media, strings.ToLower(parameters["charset"])
	if a.status < 200 { // it wants to speak another protocol; what follows is no answer
		return a
	}
	a.body, a.broken = io.ReadAll(io.LimitReader(resp.Body, most+1))
	if int64(len(a.body)) > most {
		a.body, a.cut, a.broken = a.body[:most], true, nil
	}
	return a
}

func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }
func (a *answer) redirects() bool {
	return a.status >= 301 && a.status <= 308 && a.status != 304 && a.location != ""
}

// busy: the service, or what stands before it, asks to come again later.
func (a *answer) busy() bool {
	return a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable || a.gateway()
}

// refuses: the service says that it has not done what it was asked. A 503 does not: what stands
// before a service also answers that when the connection to the service broke under the request.
func (a *answer) refuses() bool { return a.status >= 400 && a.status < 500 }

// gateway: what stands before the service does not know what became of the request. The numbers are
// those of a large one of them: the service said nothing that can be read, the connection to it ran
// out of time, and so did its answer.
func (a *answer) gateway() bool {
	return slices.Contains([]int{http.StatusBadGateway, http.StatusGatewayTimeout, 520, 522, 524}, a.status)
}

// final: below 200 there is more to come, which nobody here waits for.
func (a *answer) final() bool { return a.status >= 200 }

// name is the status in words.
func (a *answer) name() string { return remote.Status(a.status) }

// text is the body as text; ok is false, and why says so, if it is none.
func (a *answer) text(s secret.Values) (text, why string, ok bool) {
	switch {
	case a.encoding != "" && a.encoding != "identity":
		return "", "an encoding that was not asked for (" + remote.Brief(a.encoding) + ")", false
	case !a.readable():
		return "", cmp.Or(remote.Brief(a.media), "bytes that are no text"), false
	}
	raw, ok := a.inUTF8()
	if !ok {
		return "", remote.Brief(a.media) + " in another character set" + inBrackets(remote.Brief(a.charset)), false
	}
	var compact bytes.Buffer
	if !a.cut && a.broken == nil && json.Compact(&compact, raw) == nil {
		raw = compact.Bytes() // every digit stays
	}
	text = s.Redact(string(raw))
	if a.cut || a.broken != nil {
		text = s.CutEnd(text)
	}
	// a name is longer than its value, and stands there again and again
	if int64(len(text)) > 2*a.most {
		text, a.cut = string(wholeRunes([]byte(text[:2*a.most]))), true
	}
	return strings.ToValidUTF8(text, "\uFFFD"), "", true
}

// inUTF8 is the body as text; ok is false if it is in a character set that this program cannot
// read. Text that can only be UTF-8 is taken for that, whatever the service says of it.
func (a *answer) inUTF8() (raw []byte, ok bool) {
	raw = a.body
	if a.cut {
		raw = wholeRunes(raw)
	}
	switch {
	case bytes.IndexByte(raw, 0) >= 0: // UTF-16, most often
		return nil, false
	case utf8.Valid(raw), a.charset == "", a.charset == "utf-8", a.charset == "utf8", a.charset == "us-ascii":
		return raw, true
	case a.charset == "iso-8859-1" || a.charset == "latin1":
		var text []rune
		for _, b := range a.body {
			text = append(text, rune(b))
		}
		return []byte(string(text)), true
	}
	return nil, false
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// wholeRunes drops the beginning of a character that was cut.
func wholeRunes(raw []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(raw); i++ {
		if last := raw[len(raw)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return raw[:len(raw)-i]
			}
			break
		}
	}
	return raw
}

// readable says whether the body is text, by its type; by its bytes, if it has none.
func (a *answer) readable() bool {
	if a.media == "" {
		return utf8.Valid(a.body) && !bytes.ContainsRune(a.body, 0) || len(a.body) == 0
	}
	for _, text := range []string{"text/", "application/json", "application/xml", "application/x-www-form-urlencoded", "application/javascript",
		"application/yaml", "application/x-yaml", "application/x-ndjson", "application/jsonl", "application/problem"} {
		if strings.HasPrefix(a.media, text) {
			return true
		}
	}
	return strings.HasSuffix(a.media, "+json") || strings.HasSuffix(a.media, "+xml") || strings.HasSuffix(a.media, "+yaml") || len(a.body) == 0
}
