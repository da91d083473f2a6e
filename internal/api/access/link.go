package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// LinkPath is the path of a server below which it takes links.
const LinkPath = "/v1/approvals/"

// Link lets its bearer answer one suspension, without a token, until it expires. It is good for
// nothing else. The signature alone is not enough: the record of this ID says for whom it was made,
// by whom, and whether it was revoked.
type Link struct {
	ID         string // of its record
	Tenant     string
	Run        string
	Suspension string
	Expires    time.Time // to the second
}

// What may be wrong with the text of a link.
var (
	ErrBadLink     = errors.New("access: this is not an approval link of this server")
	ErrExpiredLink = errors.New("access: the link has expired")
)

// LinkKeys sign links: the first one new ones, any of them those that come back, so that a key can
// be replaced while links that it signed are on their way. Each is at least 32 random bytes.
type LinkKeys [][]byte

// linkForm is the first word of what is signed. Another form, or another use of the keys, gets
// another word. Links of form 1 had no record and could not be revoked; they are not opened any
// more.
const linkForm = "approval-link-2"

// Sign returns the link as text that is safe in a path. Anyone can read its content, but only a
// holder of the key can create it.
func (k LinkKeys) Sign(l Link) string {
	return k.sign(linkForm, l.Expires, l.Tenant, l.Run, l.Suspension, l.ID)
}

// Open reads what [LinkKeys.Sign] wrote. [ErrBadLink] for everything else, [ErrExpiredLink], with
// the link, for one that was good before now.
func (k LinkKeys) Open(signed string, now time.Time) (Link, error) {
	fields, expires, err := k.open(linkForm, signed, 4, now)
	if err != nil && !errors.Is(err, ErrExpiredLink) {
		return Link{}, err
	}
	return Link{Tenant: fields[0], Run: fields[1], Suspension: fields[2], ID: fields[3], Expires: expires}, err
}

// sign writes the form, the fields and the end of what they are good for, none of which holds a
// zero byte, and their code.
func (k LinkKeys) sign(form string, expires time.Time, fields ...string) string {
	text := strings.Join(append(append([]string{form}, fields...), strconv.FormatInt(expires.Unix(), 10)), "\x00")
	return encode([]byte(text)) + "." + encode(sum(k[0], text))
}

// open reads what sign wrote. The fields of what has expired come with the error.
func (k LinkKeys) open(form, signed string, n int, now time.Time) (fields []string, expires time.Time, err error) {
	first, second, _ := strings.Cut(signed, ".")
	text, err1 := base64.RawURLEncoding.Strict().DecodeString(first)
	mac, err2 := base64.RawURLEncoding.Strict().DecodeString(second)
	if err1 != nil || err2 != nil || !k.signed(string(text), mac) {
		return nil, expires, ErrBadLink
	}
	fields = strings.Split(string(text), "\x00")
	if len(fields) != n+2 || fields[0] != form {
		return nil, expires, ErrBadLink
	}
	seconds, err := strconv.ParseInt(fields[n+1], 10, 64)
	if err != nil {
		return nil, expires, ErrBadLink
	}
	if expires = time.Unix(seconds, 0); !now.Before(expires) {
		err = ErrExpiredLink
	}
	return fields[1 : n+1], expires, err
}

func (k LinkKeys) signed(text string, mac []byte) bool {
	for _, key := range k {
		if hmac.Equal(mac, sum(key, text)) {
			return true
		}
	}
	return false
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }
