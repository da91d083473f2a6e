package remote_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

const token = "token-of-the-bank"

func hidden() secret.Values { return secret.Values{"TOKEN": token} }

func TestNoOutcomeShowsAHiddenValue(t *testing.T) {
	says := "it said " + token + "\xff"
	for _, attempt := range []remote.Attempt{remote.NotSent{Why: says}, remote.Refused{Why: says}, remote.Refused{Said: says}, remote.Unknown{Why: says},
		remote.Unknown{Why: says, Said: says}, remote.Answered{Outcome: core.Outcome{Text: says, Media: []core.Part{{Name: says}}}},
		remote.Answered{Outcome: core.Outcome{Ticket: &core.SuspendTicket{Suspension: core.Suspension{Message: says}}}}} {
		for k := range kinds {
			w := newWorld(t, k)
			w.call.Hidden = hidden
			out, err := w.run(t.Context(), attempt)
			said := out.Text + question(out)
			for _, part := range out.Media {
				said += part.Name
			}
			if err != nil || strings.Contains(said, token) || !strings.Contains(said, "[secret TOKEN]\uFFFD") {
				t.Errorf("%s: %q, %v", kinds[k], said, err)
			}
		}
	}
}

// TestAFailureOfARepeatSaysThatACrashedProcessMayHaveSentIt: also one that was not sent.
func TestAFailureOfARepeatSaysThatACrashedProcessMayHaveSentIt(t *testing.T) {
	const note = " This is the result of the repeat only: the process that made the call before crashed, and may have sent it. The call may or may not have taken effect."
	for _, k := range []kind{again, look} {
		for _, attempt := range []remote.Attempt{closed, unwelcome, broken, fault, duplicate, paid} {
			w := newWorld(t, k)
			w.call.Request.Again = true
			out, err := w.run(t.Context(), attempt)
			if noted := strings.HasSuffix(out.Text, note); err != nil || noted != (k == again && out.Failed) {
				t.Errorf("%s, %T: %q, %v", kinds[k], attempt, out.Text, err)
			}
		}
		w := newWorld(t, k)
		w.call.Request.Again = true
		want := map[kind]string{again: "The call did not run: it is too large." + note, look: "The call did not run: it is too large."}[k]
		if out := w.call.NotRun("it is too large"); !out.Failed || out.Text != want {
			t.Errorf("%s: %+v", kinds[k], out)
		}
	}
}

func TestABeginningHoldsNoPartOfAHiddenValue(t *testing.T) {
	for text, want := range map[string]string{
		"short":                                  "short",
		"with " + token:                          "with [secret TOKEN]",
		strings.Repeat("x", 30) + token:          strings.Repeat("x", 30) + "...",
		strings.Repeat("x", 35) + token:          strings.Repeat("x", 35) + "...",
		strings.Repeat("x", 20) + token + "more": strings.Repeat("x", 20) + "[secret TOKEN]mor...",
		strings.Repeat("ä", 30):                  strings.Repeat("ä", 20) + "...",
	} {
		if got := remote.Beginning(hidden(), text, 40, "..."); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAWordFromOutsideFitsIntoASentence(t *testing.T) {
	for word, want := range map[string]string{"text/html": "text/html", "a\nb\x1b\u202e": "ab", strings.Repeat("x", 100): strings.Repeat("x", 80)} {
		if got := remote.Brief(word); got != want {
			t.Errorf("%q: %q", word, got)
		}
	}
}

func TestWhyNothingWasSentNamesNoAddress(t *testing.T) {
	for want, err := range map[string]error{
		"could not be reached within 10s":                       remote.ErrSlow,
		"could not be reached: there is no such host":           &net.DNSError{Server: "10.1.2.3", IsNotFound: true},
		"could not be reached: its name could not be looked up": &net.DNSError{Server: "10.1.2.3"},
		"could not be reached: it refused the connection":       &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"could not be reached: its certificate is not trusted":  &tls.CertificateVerificationError{Err: errors.New("of 10.1.2.3")},
		"could not be reached: the connection failed":           errors.New("dial 10.1.2.3"),
	} {
		if got := remote.Unreached(fmt.Errorf("wrapped: %w", err), quiet, ": the connection failed"); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if got := remote.Status(502) + remote.Status(524); got != "502 Bad Gateway524" {
		t.Errorf("statuses %q", got)
	}
}
