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

// answer is the response of a service, as far as it was read.
type answer struct {
	status   int
	media    string // the type of the body, without parameters
	charset  string // as the service sent it
	encoding string
	location string
	wait     string // the header Retry-After
	length   int64  // -1 if unknown
	body     []byte
	most     int64
	cut      bool  // the body is longer than what was read
	broken   error // the body ended too early
}

// read reads at most most bytes of the body.
func read(resp *http.Response, most int64) *answer {
	a := &answer{status: resp.StatusCode, most: most, location: resp.Header.Get("Location"), wait: resp.Header.Get("Retry-After"), length: resp.ContentLength,
		encoding: strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))}
	media, parameters, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	a.media, a.charset = media, strings.ToLower(parameters["charset"])
	if a.status < 200 { // it wants to switch protocols, so nothing that follows is an answer
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

// busy reports whether the service, or a gateway in front of it, asks to retry later.
func (a *answer) busy() bool {
	return a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable || a.gateway()
}

// refuses reports whether the service says that it did not act. A 503 does not say so: a gateway
// also returns it when its connection to the service breaks during the request.
func (a *answer) refuses() bool { return a.status >= 400 && a.status < 500 }

// gateway reports whether a gateway answered that does not know what happened to the request. The
// numbers above 504 are those of a large CDN: the response of the service was unreadable, or a
// connection or the response timed out.
func (a *answer) gateway() bool {
	return slices.Contains([]int{http.StatusBadGateway, http.StatusGatewayTimeout, 520, 522, 524}, a.status)
}

// final reports whether this is the final response. Interim responses, below 200, are not used.
func (a *answer) final() bool { return a.status >= 200 }

// name is the status as a number and a phrase.
func (a *answer) name() string { return remote.Status(a.status) }

// text returns the body as text. If the body is not text, ok is false and why says so.
func (a *answer) text(s secret.Values) (text, why string, ok bool) {
	switch {
	case a.encoding != "" && a.encoding != "identity":
		return "", "an encoding that was not requested (" + remote.Brief(a.encoding) + ")", false
	case !a.readable():
		return "", cmp.Or(remote.Brief(a.media), "bytes that are not text"), false
	}
	raw, ok := a.inUTF8()
	if !ok {
		return "", remote.Brief(a.media) + " in an unsupported character set" + inBrackets(remote.Brief(a.charset)), false
	}
	var compact bytes.Buffer
	if !a.cut && a.broken == nil && json.Compact(&compact, raw) == nil {
		raw = compact.Bytes() // numbers keep every digit
	}
	text = s.Redact(string(raw))
	if a.cut || a.broken != nil {
		text = s.CutEnd(text)
	}
	// a placeholder is longer than its secret, and may appear many times
	if int64(len(text)) > 2*a.most {
		text, a.cut = string(wholeRunes([]byte(text[:2*a.most]))), true
	}
	return strings.ToValidUTF8(text, "\uFFFD"), "", true
}

// inUTF8 returns the body as UTF-8; ok is false if this program cannot read its character set. Text
// that can only be UTF-8 is accepted as UTF-8, even if the service claims another character set.
func (a *answer) inUTF8() (raw []byte, ok bool) {
	raw = a.body
	if a.cut {
		raw = wholeRunes(raw)
	}
	switch {
	case bytes.IndexByte(raw, 0) >= 0: // usually UTF-16
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

// wholeRunes drops an incomplete character at the start.
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

// readable reports whether the body is text, by its media type or, without one, by its bytes.
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
