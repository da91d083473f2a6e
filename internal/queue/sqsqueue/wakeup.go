package sqsqueue

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf16"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/text/strictjson"
)

// ErrNotOurs is a message of the wake queue that no program of ours has sent. It would be the same
// the next time.
var ErrNotOurs = errors.New("sqsqueue: this is no wake-up; find out who sends to this queue, " +
	"which is for the stack's own functions alone")

// ReadWakeup reads the body of a message of the wake queue, strictly. Every error is [ErrNotOurs].
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

// written is the body of a wake-up, in ASCII: SQS refuses some characters, and tenants come from
// outside.
func written(w engine.Wakeup) string {
	text, err := json.Marshal(w)
	if err != nil {
		panic(err) // two strings can always be written
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

// groupName is what SQS takes as a group.
var groupName = regexp.MustCompile(`^[a-zA-Z0-9!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` + "`" + `{|}~]{1,128}$`)

// group is the tenant as a message group, by which SQS keeps a tenant with many messages from
// holding up the others. On a standard queue it orders nothing. A name that SQS does not take is
// one of its own by its hash.
func group(tenant string) string {
	if groupName.MatchString(tenant) {
		return tenant
	}
	sum := sha256.Sum256([]byte(tenant))
	return "sha256:" + base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
}
