package links

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// The bounds of one-time codes. A code has a million values, so that who can open a link, and reads
// no mail, guesses one with a chance of 1 in 50,000, however long the link is good for.
const (
	codeLife  = 10 * time.Minute
	codeTries = 5
	codesSent = 5 // by one link in an hour
	codesSpan = time.Hour

	linkTries = 20 // of all codes of one link, for its whole life
	linkCodes = 20
)

// oneTime is what is stored of a link's one-time codes. The code itself is not in it.
type oneTime struct {
	Salt string `json:"salt"`
	Sum  string `json:"sum"`
	// when the code ends, in milliseconds
	Until int64 `json:"until"`
	// how many answers were compared with it, or are about to be
	Tries int `json:"tries"`
	// when codes were made in the last hour
	Sent []int64 `json:"sent"`
	// since the link was made: answers compared with any of its codes, and codes
	Tried int `json:"tried"`
	Made  int `json:"made"`
}

// locked says whether the link has used up its codes or its tries, for good.
func (o oneTime) locked(makes bool) error {
	if o.Tried < linkTries && (!makes || o.Made < linkCodes) {
		return nil
	}
	return refusal.New(refusal.CodeCodeLocked, "this link has used up its %d codes or %d tries; ask for a new link", linkCodes, linkTries)
}

func oneTimeOf(l engine.Link) (o oneTime, err error) {
	if l.Code != "" {
		err = json.Unmarshal([]byte(l.Code), &o)
	}
	if err != nil {
		err = errors.Join(engine.ErrUnreadable, err)
	}
	return o, err
}

// sumOf is what is kept of a code: with the salt and the link in it, it is of no use for another
// code or another link.
func (o oneTime) sumOf(l engine.Link, code string) string {
	sum := hmac.New(sha256.New, []byte(o.Salt))
	for _, part := range []string{l.Tenant, l.Run, l.ID, code} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// NewCode makes a one-time code for a link, in place of the one before, and counts it as sent. The
// caller sends it to the link's address, and keeps it nowhere. [refusal.CodeTooManyCodes] if the
// link has had its codes for now, and [refusal.CodeCodeLocked] if it gets no more.
func (f *Maker) NewCode(ctx context.Context, l engine.Link) (code string, err error) {
	err = f.swapCode(ctx, l, func(o oneTime) (oneTime, error) {
		if err := o.locked(true); err != nil {
			return o, err
		}
		now := f.Now()
		o.Sent = slices.DeleteFunc(o.Sent, func(at int64) bool { return at <= now-codesSpan.Milliseconds() })
		if len(o.Sent) >= codesSent {
			wait := time.Duration(o.Sent[0]+codesSpan.Milliseconds()-now) * time.Millisecond
			return o, &refusal.Error{Code: refusal.CodeTooManyCodes, RetryAfter: wait,
				Detail: fmt.Sprintf("this link has sent %d codes in an hour; use the newest one, or wait", codesSent)}
		}
		code = f.sixDigits()
		next := oneTime{Salt: f.Random.Text(26), Until: now + codeLife.Milliseconds(), Sent: append(o.Sent, now), Tried: o.Tried, Made: o.Made + 1}
		next.Sum = next.sumOf(l, code)
		return next, nil
	})
	return code, err
}

// sixDigits takes 60 random bits, so that each code is as likely as any other.
func (f *Maker) sixDigits() string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	var n uint64
	for _, c := range f.Random.Text(12) {
		n = n<<5 | uint64(strings.IndexRune(letters, c))
	}
	return fmt.Sprintf("%06d", n%1_000_000)
}

var codeForm = lazyregexp.New(`^[0-9]{6}$`)

// UseCode returns nil if typed is the link's newest code, and it is still good. It counts a try in
// the store before it compares, so that however many guess at once, no more than 5 of them are
// compared with one code, and 20 with all codes of the link.
func (f *Maker) UseCode(ctx context.Context, l engine.Link, typed string) error {
	typed = strings.ReplaceAll(strings.TrimSpace(typed), " ", "")
	switch {
	case typed == "":
		return refusal.New(refusal.CodeCodeRequired, "this link is answered with a one-time code; have one sent to the address that the link is for, and enter it")
	case !codeForm.MatchString(typed):
		return refusal.New(refusal.CodeCodeWrong, "a code has six digits; enter the newest one that was sent")
	}
	var counted oneTime
	err := f.swapCode(ctx, l, func(o oneTime) (oneTime, error) {
		if err := o.locked(false); err != nil {
			return o, err
		}
		if o.Sum == "" || o.Until <= f.Now() || o.Tries >= codeTries {
			return o, refusal.New(refusal.CodeCodeExpired, "no code is good now: the last one was sent more than 10 minutes ago, or was tried 5 times; have another one sent")
		}
		o.Tries++
		o.Tried++
		counted = o
		return o, nil
	})
	if err == nil && !hmac.Equal([]byte(counted.Sum), []byte(counted.sumOf(l, typed))) {
		err = refusal.New(refusal.CodeCodeWrong, "this is not the newest code that was sent; enter that one")
	}
	return err
}

// mostSwaps bounds how often a change is tried again. What gets in the way is other changes, and
// their number is bounded: by 5 tries of each of 5 codes.
const mostSwaps = 32

// swapCode changes what is known of a link's codes. Next may be called several times; the last call
// is the one that counts.
func (f *Maker) swapCode(ctx context.Context, l engine.Link, next func(oneTime) (oneTime, error)) error {
	for range mostSwaps {
		known, err := oneTimeOf(l)
		if err != nil {
			return err
		}
		changed, err := next(known)
		if err != nil {
			return err
		}
		done, err := storecall.Try(ctx, f.Clock, func() (bool, error) {
			return f.LinkStore.SwapLinkCode(ctx, l.Tenant, l.Run, l.ID, l.Code, string(core.Encode(changed)))
		})
		if err != nil || done {
			return err
		}
		if l, err = f.LinkRecord(ctx, l.Tenant, l.Run, l.ID); err != nil {
			return err
		}
	}
	return &refusal.Error{Code: refusal.CodeUnavailable, Detail: "too many requests use this link at once; send the same request again", RetryAfter: time.Second}
}
