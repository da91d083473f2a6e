package livetext

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// Attributes of an item. The first two are the table's key.
const (
	attrPK   = "pk"
	attrSK   = "sk"
	attrBody = "j"
)

// itemLife is longer than any step, so that a reader who comes late finds all of an attempt.
const itemLife = time.Hour

type item = map[string]types.AttributeValue

// partition has what was said in one thread. Escaped names contain no #, and differ if the names
// do.
func (p place) partition() string {
	return "LIVE#" + url.PathEscape(p.tenant) + "#" + url.PathEscape(p.thread)
}

// position orders the items of a thread. Attempts under one claim, after one segment, continue the
// numbers of one another, so that no item replaces another.
type position struct {
	seq, epoch int64
	n          int
}

// step is the beginning of the positions under one claim after one segment.
func (p position) step() string { return fmt.Sprintf("%012d#%012d#", p.seq, p.epoch) }

func (p position) String() string { return p.step() + fmt.Sprintf("%06d", p.n) }

func readPosition(text string) (p position, ok bool) {
	parts := strings.Split(text, "#")
	if len(parts) != 3 {
		return p, false
	}
	seq, err1 := strconv.ParseInt(parts[0], 10, 64)
	epoch, err2 := strconv.ParseInt(parts[1], 10, 64)
	n, err3 := strconv.Atoi(parts[2])
	return position{seq, epoch, n}, err1 == nil && err2 == nil && err3 == nil
}

// said is what an item says: of which attempt, and what it adds. Its text may begin with text that
// an earlier item has, if that one's write was thought to be lost.
type said struct {
	Run     string `json:"run"`
	Turn    int    `json:"turn,omitempty"`
	Step    int    `json:"step,omitempty"`
	Restart int    `json:"restart,omitempty"`
	Event   int64  `json:"ev,omitempty"`
	First   bool   `json:"first,omitempty"` // of its attempt
	At      int64  `json:"at"`

	Text        string `json:"text,omitempty"`
	From        int    `json:"from,omitempty"` // the byte at which Text begins
	Thought     string `json:"thought,omitempty"`
	ThoughtFrom int    `json:"thought_from,omitempty"`
	Notes       []note `json:"notes,omitempty"`
}

// note is an [engine.Note] without what its reader is not shown.
type note struct {
	Version  int              `json:"v"`
	Call     string           `json:"call"`
	Tool     string           `json:"tool"`
	At       int64            `json:"at"`
	Progress *engine.Progress `json:"progress,omitempty"`
}

func noteOf(n engine.Note) note {
	return note{Version: n.Version, Call: n.Call.ID, Tool: n.Call.Name, At: n.At, Progress: n.Progress}
}

func (n note) engine() engine.Note {
	return engine.Note{Version: n.Version, Call: core.ToolCall{ID: n.Call, Name: n.Tool}, At: n.At, Progress: n.Progress}
}

// replacedBy returns whether a note has no place beside n: the same call began, or is as far.
func replacedBy(n engine.Note) func(old engine.Note) bool {
	return func(old engine.Note) bool {
		return old.Call.ID == n.Call.ID && (old.Progress == nil) == (n.Progress == nil)
	}
}

func (p place) item(at position, s said, now time.Time) item {
	return item{attrPK: text(p.partition()), attrSK: text(at.String()), attrBody: text(string(core.Encode(s))),
		dynamo.TTLAttribute: &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Add(itemLife).Unix(), 10)}}
}

// readItem returns false for an item that a program of another version may have written.
func readItem(it item) (at position, s said, ok bool) {
	at, ok = readPosition(textAt(it, attrSK))
	return at, s, ok && json.Unmarshal([]byte(textAt(it, attrBody)), &s) == nil
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func textAt(it item, name string) string {
	v, ok := it[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return v.Value
}
