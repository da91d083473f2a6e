package sqsqueue

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// ErrNotOurs reports a message of the wake-up queue that Dormouse did not send. A redelivery would
// not change that.
var ErrNotOurs = errors.New("sqsqueue: the message is not a wake-up; find out who sends to this queue, " +
	"which only the functions of the stack may use")

// ReadWakeup parses the body of a message of the wake-up queue strictly. Every error is
// [ErrNotOurs].
func ReadWakeup(body string) (engine.Wakeup, error) {
	var w engine.Wakeup
	err := strictjson.Check([]byte(body))
	if err == nil {
		err = strictjson.Decode([]byte(body), &w)
	}
	if err == nil && (w.Tenant == "" || w.Thread == "") {
		err = errors.New("tenant or thread is missing")
	}
	if err != nil {
		return engine.Wakeup{}, fmt.Errorf("%w: %w", ErrNotOurs, err)
	}
	return w, nil
}

// written returns the body of a wake-up, in ASCII: SQS rejects some characters, and tenants come
// from outside.
func written(w engine.Wakeup) string {
	text, err := json.Marshal(w)
	if err != nil {
		panic(err) // two strings always have a JSON form
	}
	var body []byte
	for _, r := range string(text) {
		if r < 0x7f {
			body = append(body, byte(r))
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			body = fmt.Appendf(body, `\u%04x`, unit)
		}
	}
	return string(body)
}

// group returns the message group of a tenant, by which SQS keeps a tenant with many messages from
// delaying the others. On a standard queue it imposes no order. A name that SQS does not accept is
// replaced by a hash of it.
func group(tenant string) string {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if tenant != "" && len(tenant) <= 128 && !strings.ContainsFunc(tenant, odd) {
		return tenant
	}
	sum := sha256.Sum256([]byte(tenant))
	return "sha256:" + base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
}
