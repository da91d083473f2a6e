package aguitest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/agui"
	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/project/projecttest"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Conversation are the events of one run, and of those before it.
type Conversation struct {
	Before, Run []wire.Event
	Rests       bool // behind the last event nothing happens until someone acts
}

// Stream is the response of a view of the run.
func (c Conversation) Stream(v agui.View) ([]agui.Event, error) {
	v.Thread, v.Run = "thread", "response"
	v.Recall = func(take func(wire.Event) (more bool, err error)) error {
		for _, e := range slices.Concat(c.Before, c.Run) {
			if more, err := take(e); err != nil || !more {
				return err
			}
		}
		return nil
	}
	s := agui.NewStream(v)
	var all []agui.Event
	for _, e := range c.Run {
		e, err := new(project.Files).Take(e) // as a stream gets it
		if err != nil {
			return nil, err
		}
		more, err := s.Push(e)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	if c.Rests {
		all = append(all, s.Rest()...)
	}
	return all, nil
}

// upTo is the conversation as it was behind the n-th event of the run, where its turn ended.
func (c Conversation) upTo(n int) Conversation {
	return Conversation{Before: c.Before, Run: c.Run[:n], Rests: true}
}

// Split holds the projection of a run against two promises: a client takes it, and it doesn't
// matter in how many responses it came, nor behind which event a page was opened.
func (c Conversation) Split(random *rand.Rand) error {
	for _, versioned := range []bool{true, false} {
		if err := c.split(random, versioned); err != nil {
			return fmt.Errorf("versioned: %v: %w", versioned, err)
		}
	}
	return nil
}

func (c Conversation) split(random *rand.Rand, versioned bool) error {
	whole, err := c.seen(nil, versioned)
	if err != nil {
		return fmt.Errorf("in one response: %w", err)
	}
	var cuts []int
	for _, n := range projecttest.Rests(c.Run) {
		if random.IntN(2) == 0 {
			cuts = append(cuts, n)
		}
	}
	pieces, err := c.seen(cuts, versioned)
	if err != nil {
		return fmt.Errorf("in several responses: %w", err)
	}
	if err := alike(whole, pieces, "in one response", "in several"); err != nil {
		return err
	}
	n := random.IntN(len(c.Run))
	for len(c.Run[n].Path) > 0 { // a page is opened where the run itself is
		n--
	}
	opened, err := c.opened(c.Run[n].Seq, versioned)
	if err != nil {
		return fmt.Errorf("opened behind event %d: %w", c.Run[n].Seq, err)
	}
	if !c.Rests {
		return nil // what is under way differs
	}
	return alike(whole, opened, "in one response", fmt.Sprintf("opened behind event %d", c.Run[n].Seq))
}

// seen is what a client has that was there all along, and got another response behind each cut.
func (c Conversation) seen(cuts []int, versioned bool) (*Client, error) {
	client := &Client{}
	if len(c.Before) > 0 {
		if err := client.remember(c.Before); err != nil {
			return nil, err
		}
	}
	var after int64
	from := 0
	for _, n := range append(slices.Clone(cuts), len(c.Run)) {
		part, ends := c.upTo(n), true
		if n == len(c.Run) {
			part, ends = c, c.Rests
		}
		events, err := part.Stream(agui.View{After: after, Versioned: versioned, Hold: projecttest.Answered(c.Run, from, n)})
		if err == nil {
			err = client.Response(events, ends)
		}
		if err != nil {
			return nil, err
		}
		after, from = SeqBefore(c.Run, n), n
	}
	return client, nil
}

// remember is what the client has of earlier runs.
func (c *Client) remember(before []wire.Event) error {
	last := slices.IndexFunc(before, func(e wire.Event) bool { return e.RunID == runOf(before) })
	past := Conversation{Before: before[:last], Run: before[last:]}
	events, err := past.Stream(agui.View{After: SeqBefore(before, len(before)), Snapshot: true})
	if err != nil {
		return err
	}
	return c.Response(events, false)
}

// runOf is the last run of a conversation, without those below it.
func runOf(events []wire.Event) (run string) {
	for _, e := range events {
		if len(e.Path) == 0 {
			run = e.RunID
		}
	}
	return run
}

// opened is what a client has that was opened behind an event.
func (c Conversation) opened(seq int64, versioned bool) (*Client, error) {
	events, err := c.Stream(agui.View{After: seq, Snapshot: true, Versioned: versioned})
	if err != nil {
		return nil, err
	}
	client := &Client{}
	return client, client.Response(events, c.Rests)
}

// SeqBefore is where the run itself was before its n-th event, or that of a run below.
func SeqBefore(run []wire.Event, n int) int64 {
	for n--; len(run[n].Path) > 0; n-- {
		continue
	}
	return run[n].Seq
}

func alike(one, other *Client, first, second string) error {
	a, b := core.Encode(one.shown()), core.Encode(other.shown())
	if string(a) != string(b) {
		return fmt.Errorf("%s, a client shows\n%s\nand %s\n%s", first, a, second, b)
	}
	return nil
}

// shown is what a reader sees.
func (c *Client) shown() Client {
	said := slices.DeleteFunc(slices.Clone(c.Messages), func(m agui.Message) bool { return m.Role == "reasoning" && (m.Content == nil || *m.Content == "") })
	return Client{Messages: said, State: c.State, Interrupts: c.Interrupts}
}
