package notice

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Target is where notices go, and which: what an agent file, a start or a tenant asks for. It names
// a secret and never holds its value.
type Target struct {
	// in its list; the id of the endpoint contains it
	Name string `json:"name"`
	On   Set    `json:"on"`

	URL string `json:"url,omitempty"`
	// in place of URL: addresses that get mail
	Mail []string `json:"mail,omitempty"`
	// in place of URL: a channel to which a Slack app posts; only agent files name one
	Slack *SlackChannel `json:"slack,omitempty"`
	// how a body is written; empty: [FormatStandard]
	Format Format `json:"format,omitempty"`
	// of [FormatTemplate]: a JSON value with placeholders
	Template json.RawMessage `json:"template,omitempty"`
	// the name of the secret that signs; its value is one key, or two while it is rotated
	Secret string `json:"secret,omitempty"`
	// what the links in its mail ask for besides; see [RequireCode]
	Require string `json:"require,omitempty"`
	// the endpoint may be at an address that the operator allows beside public ones
	AllowPrivate bool `json:"allow_private,omitempty"`

	// of [FormatA2A]: what the client wants to be sent with; the target's own list hasn't it
	Push *Push `json:"-"`
}

// Address is a digest of where notices go by URL or mail: it changes when the target is pointed
// elsewhere.
func (t Target) Address() string {
	sum := sha256.Sum256([]byte(t.URL + "\x00" + strings.Join(t.Mail, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// RequireCode has the links in a mail ask for a one-time code that is sent to its address.
const RequireCode = "code"

// Format is how the body of a notice is written.
type Format string

const (
	FormatStandard Format = "standard" // the notice as JSON, signed as Standard Webhooks say
	FormatSlack    Format = "slack"    // a message for an incoming webhook of Slack
	FormatTeams    Format = "teams"    // an adaptive card for a workflow of Microsoft Teams
	FormatTemplate Format = "template" // JSON as the target's template says
)

// FormatA2A is the format of endpoints that clients of A2A add to a task: the task as it is. No one
// else can choose it. A target with this format and no URL, in the list of a start, names the group
// whose endpoints are notified.
const FormatA2A Format = "a2a"

// Formats are those that a target can have.
var Formats = []Format{FormatStandard, FormatSlack, FormatTeams, FormatTemplate}
