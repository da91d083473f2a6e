package remote

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// MostShown limits how many bytes of a failure's own text are shown, unless an adapter has a
// smaller limit.
const MostShown = 2000

// Beginning returns a text without the hidden values. If the text is longer than most bytes, it
// returns the first most bytes and mark. The cut never splits a hidden value, because its beginning
// would no longer be recognized.
func Beginning(hidden secret.Values, text string, most int, mark string) string {
	if len(text) <= most {
		return hidden.Redact(text)
	}
	return hidden.CutEnd(hidden.Redact(clip.Bytes(text, most, ""))) + mark
}

// Brief returns a word from outside in a form that fits into a sentence: printable ASCII, at most
// 80 bytes.
func Brief(word string) string {
	word = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, word)
	return clip.Bytes(word, 80, "")
}

// Status returns an HTTP status as its number and name.
func Status(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}

// Unreached says why a call was not sent, for a [NotSent]. Addresses are for the operator only, so
// for any error that it does not know it says otherwise.
func Unreached(err error, limit time.Duration, otherwise string) string {
	var unknown *net.DNSError
	switch {
	case errors.Is(err, ErrSlow):
		return fmt.Sprintf("could not be reached within %s", limit)
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return "could not be reached: there is no such host"
	case errors.As(err, &unknown):
		return "could not be reached: its name could not be looked up"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "could not be reached: it refused the connection"
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "could not be reached: its certificate is not trusted"
	}
	return "could not be reached" + otherwise
}

// Silence says why a call that was sent has no answer, for an [Unknown].
func Silence(err error, limit time.Duration, otherwise string) string {
	if errors.Is(err, ErrSlow) {
		return fmt.Sprintf("no answer came within %s", limit)
	}
	return otherwise
}

// Broke is the reason if the connection ended too early.
const Broke = "the connection broke before a whole answer came"
