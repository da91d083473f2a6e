// Package hookfile reads hook files: how an incoming webhook is verified, and how its body becomes
// the start of a run, a message or a decision. A hook file is data: the package verifies nothing
// and acts on nothing.
package hookfile

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
)

// Folder is the folder of the hook files, in the directory of the agents.
const Folder = "hooks"

// NameForm is the form of a hook's name, which is that of its file.
var NameForm = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// Hook is one hook file. Exactly one of Start, Message, Decision and SlackApp is set.
type Hook struct {
	Name   string
	Tenant string // empty: the tenant that deploys it
	Verify Verify

	// When must hold for a body; any other delivery is ignored.
	When agent.Conditions

	// Agents are the agents whose runs a message or a decision may reach; none: all.
	Agents []string

	// By is the path of who acted at the sender; empty: it is not known.
	By string

	// ID is where the sender names the event; zero: the default of the scheme.
	ID Origin

	Start    *Start
	Message  *Message
	Decision *Decision
	SlackApp *SlackApp
}

// SlackApp says that the hook is the interactivity address of a Slack app, whose buttons decide.
type SlackApp struct {
	Token string // the name of the secret with the bot token
	Team  string // the id of the only workspace whose members may decide
}

// Secrets are the names of the secrets that the hook needs.
func (h Hook) Secrets() (names []string) {
	if h.Verify.Secret != "" {
		names = append(names, h.Verify.Secret)
	}
	if h.SlackApp != nil {
		names = append(names, h.SlackApp.Token)
	}
	return names
}

// Reaches reports whether messages and decisions of the hook may reach runs of an agent.
func (h Hook) Reaches(agent string) bool {
	return len(h.Agents) == 0 || slices.Contains(h.Agents, agent)
}

// Verify is how deliveries are signed: with a secret, which is named, or with the key that belongs
// to a public key in hexadecimal.
type Verify struct {
	Scheme    signature.Scheme
	Secret    string
	PublicKey string
}

// Word is the word for the scheme in a hook file.
func (v Verify) Word() string {
	for word, scheme := range schemes {
		if scheme == v.Scheme {
			return word
		}
	}
	return ""
}

// Does says in a few words what the hook does.
func (h Hook) Does() string {
	switch {
	case h.Start != nil:
		return "starts a run of " + h.Start.Agent
	case h.Message != nil:
		return "sends a message"
	case h.Decision != nil:
		return "decides"
	case h.SlackApp != nil:
		return "decides by buttons of a Slack app"
	}
	return ""
}

// Principal is the name under which the hook acts, for who acted at the sender; "" if that is not
// known. It has no roles, so lists of callers must name it.
func (h Hook) Principal(who string) string {
	if who == "" {
		return "hook:" + h.Name
	}
	return "hook:" + h.Name + "/" + who
}

// Origin is a place in a delivery: a path in the body, or a header, which no signature covers.
type Origin struct{ Path, Header string }

// Start is how a body becomes the start of a run.
type Start struct {
	Agent            string
	Input, ThreadKey placeholder.Template
	Metadata         map[string]placeholder.Template
	OnPending        string
}

// Message is how a body becomes a message: to the thread with an id, or the one with a key.
type Message struct {
	Thread, ThreadKey, Text placeholder.Template
	OnPending               string
}

// Decision is how a body becomes a decision on a suspended call.
type Decision struct {
	Target placeholder.Template // a suspension's id

	// Action is resume or cancel for every body; empty: Actions says which, by the text at
	// ActionPath.
	Action     string
	ActionPath string
	Actions    map[string]string

	Reason, Shown     placeholder.Template
	Arguments, Result string // paths; empty for none
}

// Act is what a delivery asks for. Exactly one of Start, Message and Decision is set.
type Act struct {
	// ID names the event among those of the hook: a delivery with the same ID is a repeat.
	ID string

	By string // who acted, in the sender's words; empty if that is not known

	Start    *wire.StartRequest
	Message  *MessageAct
	Decision *wire.Decision
}

// MessageAct is a message to a thread, by its id or its key.
type MessageAct struct {
	Thread, ThreadKey string
	Request           wire.MessageRequest
}

// MismatchError says that a verified body lacks what the hook file maps. Its text names paths of
// the file, and nothing of the body.
type MismatchError struct{ Text string }

func (e *MismatchError) Error() string { return e.Text }

func mismatch(format string, args ...any) error { return &MismatchError{fmt.Sprintf(format, args...)} }

// Delivery is a verified request.
type Delivery struct {
	// of the request among those of its sender, see [signature.Verify]
	Name   string
	Header func(name string) string // "" for a header that is missing or repeated
	Body   agent.Values
}

// Map says what a delivery asks for. The error is a [*MismatchError].
func (h Hook) Map(d Delivery) (a Act, err error) {
	if h.SlackApp != nil {
		return a, mismatch("a Slack app's hook maps no bodies")
	}
	if a.ID, err = h.id(d); err != nil {
		return a, err
	}
	if a.By, err = h.by(d.Body); err != nil {
		return a, err
	}
	switch {
	case h.Start != nil:
		a.Start, err = h.Start.of(d.Body)
	case h.Message != nil:
		a.Message, err = h.Message.of(d.Body)
	default:
		a.Decision, err = h.Decision.of(d.Body)
	}
	return a, err
}

// id is the event's own name where the sender gives it one, which stays if the body is sent again
// with other details; else the name of the request.
func (h Hook) id(d Delivery) (string, error) {
	switch {
	case h.ID.Path != "":
		if id, ok := d.Body.Text(h.ID.Path); ok && id != "" {
			return shortened(id), nil
		}
		return "", mismatch("the body has no text or number at %s, which names the event", h.ID.Path)
	case h.ID.Header != "":
		if id := d.Header(h.ID.Header); id != "" {
			return shortened(id), nil
		}
		return "", mismatch("the header %s, which names the event, is missing or repeated", h.ID.Header)
	case h.Verify.Scheme == signature.Stripe:
		if id, ok := d.Body.Text("id"); ok && id != "" {
			return shortened(id), nil
		}
	}
	return shortened(d.Name), nil
}

func (s Start) of(body agent.Values) (*wire.StartRequest, error) {
	input, err := filled(body, "input", s.Input)
	if err != nil {
		return nil, err
	}
	key, err := filled(body, "thread_key", s.ThreadKey)
	if err != nil {
		return nil, err
	}
	metadata, err := object(body, s.Metadata)
	return &wire.StartRequest{Agent: s.Agent, Input: core.Encode(input), ThreadKey: key, Metadata: metadata, OnPending: s.OnPending}, err
}

func (m Message) of(body agent.Values) (*MessageAct, error) {
	thread, err1 := filled(body, "thread", m.Thread)
	key, err2 := filled(body, "thread_key", m.ThreadKey)
	said, err3 := filled(body, "text", m.Text)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return nil, err
		}
	}
	return &MessageAct{Thread: thread, ThreadKey: key, Request: wire.MessageRequest{Input: core.Encode(said), OnPending: m.OnPending}}, nil
}

func (d Decision) of(body agent.Values) (*wire.Decision, error) {
	target, err := filled(body, "target", d.Target)
	if err != nil {
		return nil, err
	}
	made := &wire.Decision{Target: target, Action: d.Action, Reason: optional(body, d.Reason)}
	if d.Action == "" {
		word, _ := body.Text(d.ActionPath)
		if made.Action = d.Actions[word]; made.Action == "" {
			return nil, mismatch("the text at %s is none of the actions of the hook", d.ActionPath)
		}
	}
	if made.Shown, err = filled(body, "shown", d.Shown); err != nil {
		return nil, err
	}
	made.Arguments, made.Result = jsonAt(body, d.Arguments), jsonAt(body, d.Result)
	return made, nil
}

// jsonAt is a value of the body as JSON; nil if it is not there.
func jsonAt(body agent.Values, path string) json.RawMessage {
	if path == "" {
		return nil
	}
	value, there := body.At(path)
	if !there {
		return nil
	}
	return core.Encode(value)
}
