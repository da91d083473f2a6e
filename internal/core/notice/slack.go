package notice

import (
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// SlackChannel is a channel to which a Slack app posts.
type SlackChannel struct {
	Channel string `json:"channel"` // its id, as in C0ABCDEF1
	// the name of the secret that holds the app's bot token
	Token string `json:"token"`
}

// ChannelForm is the form of the id of a channel, which stays when the channel is renamed.
const ChannelForm = `^[CGD][A-Z0-9]{2,30}$`

// TeamForm is the form of the id of a workspace.
const TeamForm = `^T[A-Z0-9]{2,30}$`

var channelForm = lazyregexp.New(ChannelForm)

func (t Target) wrongSlack() string {
	switch {
	case t.Slack == nil:
		return ""
	case t.AllowPrivate:
		return "allow_private belongs to a url; remove it"
	case !channelForm.MatchString(t.Slack.Channel):
		return "channel must be the id of a channel, as in C0ABCDEF1; copy it from the channel's details in Slack"
	case !secretName.MatchString(t.Slack.Token): // it may be the token
		return "token must be the name of a secret, not the token itself; use A-Z, 0-9 and _, beginning with a letter"
	case strings.HasPrefix(t.Slack.Token, "DORMOUSE_SECRET_"):
		return "token names the environment variable; write it without DORMOUSE_SECRET_"
	}
	return ""
}

// Wanted is what the target is notified of. A Slack app that asks learns of the decision, too,
// whether On names it or not: it takes the buttons off its message then.
func (t Target) Wanted() Set {
	if t.Slack == nil || slices.Contains(t.On, Decided) || !slices.ContainsFunc(t.On, Kind.Asks) {
		return t.On
	}
	return append(slices.Clone(t.On), Decided)
}

// Posted is a message of a Slack app that asks for a decision. Its target changes it when the
// call no longer waits.
type Posted struct {
	Tenant     string `json:"-"`
	Run        string `json:"-"`
	Target     string `json:"-"`
	Suspension string `json:"-"`

	Channel string `json:"c"`
	TS      string `json:"ts"` // Slack's id of the message in the channel
	Tool    string `json:"n"`
	At      int64  `json:"t"`
}

// Gone is when a store may forget the message.
func (p Posted) Gone() int64 { return p.At + keptPosted }

// keptPosted is how long, in ms, a message is remembered. A call may wait that long.
const keptPosted = 400 * 24 * 60 * 60_000
