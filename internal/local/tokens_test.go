package local

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine"
)

func line(name, tenant, token string, roles ...access.Role) string {
	return access.Grant{Principal: access.Principal{Name: name, Tenant: tenant, Roles: roles}, Hash: access.HashOf(token)}.Line() + "\n"
}

// hand is a clock that is moved by hand.
type hand struct {
	engine.Clock
	now time.Time
}

func (h *hand) Now() time.Time { return h.now }

type tokensRig struct {
	*testing.T
	file   string
	clock  *hand
	tokens *tokens
}

func newTokensRig(t *testing.T, text string) *tokensRig {
	r := &tokensRig{T: t, file: filepath.Join(t.TempDir(), "tokens"), clock: &hand{now: time.UnixMilli(1e12)}}
	r.write(text)
	var err error
	if r.tokens, err = openTokens(Options{TokensFile: r.file, inner: inner{clock: r.clock}, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *tokensRig) write(text string) {
	r.Helper()
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

func (r *tokensRig) finds(token string) bool {
	r.Helper()
	_, ok, err := r.tokens.Find(r.Context(), token)
	if err != nil {
		r.Fatal(err)
	}
	return ok
}

func TestATokenTakenOutOfTheFileIsRefusedASecondLater(t *testing.T) {
	r := newTokensRig(t, line("a", "acme", "one", access.Read)+line("b", "acme", "two", access.Read))
	r.write(line("b", "acme", "two", access.Read) + "# a is gone\n")
	if !r.finds("one") {
		t.Error("the file was looked at again within a second")
	}
	r.clock.now = r.clock.now.Add(lookAgain)
	if r.finds("one") || !r.finds("two") {
		t.Error("the file was not read again")
	}
}

func TestAFileThatWasReplacedByOneOfTheSameSizeAndTimeIsReadAgain(t *testing.T) {
	r := newTokensRig(t, line("a", "acme", "one", access.Read))
	before, err := os.Stat(r.file)
	if err != nil {
		t.Fatal(err)
	}
	r.write(line("a", "acme", "two", access.Read))
	if err := os.Chtimes(r.file, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	r.clock.now = r.clock.now.Add(lookAgain)
	if r.finds("one") || !r.finds("two") {
		t.Error("what was replaced is still let in")
	}
}

func TestAWrongLineLetsNobodyInAndTheOthersCount(t *testing.T) {
	r := newTokensRig(t, line("a", "acme", "one", access.Read)+line("b", "acme", "two", access.Read))
	r.write("a acme drive " + access.HashOf("one").String() + "\n" + line("b", "acme", "two", access.Read))
	r.clock.now = r.clock.now.Add(lookAgain)
	if r.finds("one") || !r.finds("two") {
		t.Error("who is let in is not what the right lines say")
	}
}

func TestWhileTheFileIsAwayNobodyIsLetInAndNobodyIsCalledAStranger(t *testing.T) {
	r := newTokensRig(t, line("a", "acme", "one", access.Read))
	if err := os.Remove(r.file); err != nil {
		t.Fatal(err)
	}
	r.clock.now = r.clock.now.Add(lookAgain)
	if _, ok, err := r.tokens.Find(t.Context(), "one"); ok || !errors.Is(err, engine.ErrUnavailable) {
		t.Error(ok, err)
	}
	r.write(line("a", "acme", "one", access.Read))
	if !r.finds("one") {
		t.Error("the file is back, and its token is not")
	}
}

func TestAFileThatWasEmptiedIsNoReasonToCallAnybodyAStranger(t *testing.T) {
	for _, text := range []string{"", "# all gone\n", "half a li"} {
		r := newTokensRig(t, line("a", "acme", "one", access.Read))
		r.write(text)
		r.clock.now = r.clock.now.Add(lookAgain)
		if _, ok, err := r.tokens.Find(t.Context(), "one"); ok || !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%q: %v, %v", text, ok, err)
		}
		if _, ok, err := r.tokens.Named(t.Context(), "a"); ok || !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%q: by name: %v, %v", text, ok, err)
		}
	}
}

func TestTheLogSaysWhenTheFileIsGoodAgain(t *testing.T) {
	text := line("a", "acme", "one", access.Read)
	r := newTokensRig(t, text)
	var log strings.Builder
	r.tokens.log = slog.New(slog.NewTextHandler(&log, nil))
	for _, next := range []struct{ text, says string }{{"", "all callers are refused"}, {text, "reloaded"}, {text, ""}, {text + line("b", "acme", "two", access.Read), "tokens=2"}} {
		log.Reset()
		r.write(next.text)
		r.clock.now = r.clock.now.Add(lookAgain)
		_, _, _ = r.tokens.Find(t.Context(), "one")
		if got := log.String(); !strings.Contains(got, next.says) || next.says == "" && got != "" {
			t.Errorf("after %q the log says %q", next.text, got)
		}
	}
}

func TestAFileThatLetsNobodyInIsRefusedAtTheStart(t *testing.T) {
	for text, want := range map[string]string{
		"":             "dormouse tokens add",
		"# none yet\n": "dormouse tokens add",
		"secret\n":     "tokens:1: a line must be NAME TENANT ROLES",
	} {
		file := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openTokens(Options{TokensFile: file, inner: inner{clock: machine.Clock{}}, Logger: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
