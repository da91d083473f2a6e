package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/cli/narrate"
)

// view shows events as they come: to programs one JSON value a line, to a file one plain line each,
// to a person on a terminal in words. Programs and terminals also get the model's text while it is
// generated; a file gets each text once, when it is committed.
type view struct {
	app    *app
	screen display.Screen
	tale   *narrate.Tale
	below  map[string]*narrate.Tale // of the runs below, in a tree
	// model text that is already on the terminal, with the cursor behind it
	live   strings.Builder
	column int // of the cursor then
}

func (a *app) newView() *view {
	return &view{app: a, screen: display.ScreenOf(a.Stdout, a.Opts.Getenv), tale: narrate.NewTale(a.Now)}
}

func (v *view) show(e wire.Event) error {
	switch {
	case v.app.JSON:
		return v.app.PrintJSON(e)
	case !v.screen.Terminal && isLive(e):
		return nil
	case !v.screen.Terminal:
		words := fmt.Sprintf("%s  %-17s  %s", e.At.UTC().Format(time.TimeOnly+".000"), e.Type, narrate.Describe(e))
		return v.app.Printf("%s\n", strings.TrimRight(words, " "))
	case e.Type == "text.delta":
		return v.typed(e)
	case isLive(e) && v.live.Len() == 0:
		return nil // nothing of what is void was shown
	}
	same := v.said(e)
	lines := v.tale.Tell(e)
	if len(lines) == 0 {
		return nil
	}
	if err := v.end(); err != nil || same {
		return err
	}
	return v.app.Print(v.draw(e, lines))
}

// draw puts the time before the first line and the rest below it.
func (v *view) draw(e wire.Event, lines []display.Line) string {
	var b strings.Builder
	lead := display.Line{{Style: display.Faint, Text: e.At.UTC().Format(time.TimeOnly)}, {Style: display.AsIs, Text: "  "}}
	for _, l := range lines {
		for _, part := range append(lead, l...).Wrap(v.screen.Width, display.Margin) {
			b.WriteString(part.Render(v.screen.Colour) + "\n")
		}
		lead = display.Line{{Style: display.AsIs, Text: strings.Repeat(" ", display.Margin)}}
	}
	return b.String()
}

// typed shows a piece of text while the model still speaks. A piece may end in the middle of
// anything but a character.
func (v *view) typed(e wire.Event) error {
	var piece struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(e.Data, &piece) != nil || piece.Text == "" {
		return nil
	}
	var b strings.Builder
	if v.live.Len() == 0 {
		b.WriteString(display.Line{{Style: display.Faint, Text: e.At.UTC().Format(time.TimeOnly)}, {Style: display.AsIs, Text: "  says: "}}.Render(v.screen.Colour))
		v.column = saying
	}
	v.live.WriteString(piece.Text)
	for i, l := range strings.Split(display.Prose.Replace(piece.Text), "\n") {
		if i > 0 {
			b.WriteString(v.nextLine())
		}
		v.fit(&b, display.Clean(l))
	}
	return v.app.Print(b.String())
}

// saying is the indentation of the model's text.
const saying = display.Margin + len("says: ")

// fit writes clean text at the cursor and breaks it at the edge of the screen. A terminal's line
// wrap would continue in the first column, where no line of the model's may begin.
func (v *view) fit(b *strings.Builder, words string) {
	width := max(v.screen.Width, 2)
	for words != "" {
		head, rest := words, ""
		if v.screen.Width > 0 {
			head, rest = display.Split(words, width-v.column)
		}
		b.WriteString(display.Line{{Style: display.Bold, Text: head}}.Render(v.screen.Colour))
		v.column += display.Wide(head)
		if words = rest; rest != "" {
			b.WriteString(v.nextLine())
		}
	}
}

// nextLine begins a line below what the model says.
func (v *view) nextLine() string {
	if v.column = saying; v.screen.Width > 0 && v.screen.Width < 2*saying {
		v.column = 0
	}
	return "\n" + strings.Repeat(" ", v.column)
}

// isLive says whether no journal holds the event: it was sent while the model spoke.
func isLive(e wire.Event) bool {
	var of struct {
		Reason string `json:"reason"`
	}
	switch e.Type {
	case "text.delta", "reasoning.delta":
		return true
	case "step.reset":
		return json.Unmarshal(e.Data, &of) == nil && of.Reason == "repeated"
	}
	return false
}

// noAnswer says whether the event is of a model that did not answer.
func noAnswer(e wire.Event) bool {
	var of struct {
		Reason string `json:"reason"`
	}
	return json.Unmarshal(e.Data, &of) == nil && of.Reason == "model_unavailable"
}

// said tells whether the committed turn says what was shown while it came, so that it is not shown
// twice.
func (v *view) said(e wire.Event) bool {
	var whole struct {
		Text string `json:"text"`
	}
	return e.Type == "text.ended" && v.live.Len() > 0 && json.Unmarshal(e.Data, &whole) == nil && whole.Text == v.live.String()
}

// end leaves the terminal at the start of a line.
func (v *view) end() error {
	if v.live.Len() == 0 {
		return nil
	}
	v.live.Reset()
	return v.app.Print("\n")
}

// listen shows a person what the model says while it says it, and that it does not answer, until
// the run is waiting or done. If there is no stream, it shows nothing, and the caller only waits
// for the result.
func (a *app) listen(ctx context.Context, c *client.Client, run string) {
	v := a.newView()
	if a.JSON || !v.screen.Terminal {
		return
	}
	_ = each(c.Events(ctx, run, client.EventOptions{}), func(e wire.Event) error {
		switch {
		case e.Type == "text.delta":
			return v.typed(e)
		case e.Type == "text.ended" && v.live.Len() > 0:
			same := v.said(e)
			if err := v.end(); err != nil || same {
				return err
			}
			return a.Print(v.draw(e, v.tale.Tell(e))) // a hook changed what was said
		case e.Type == "step.reset" && (v.live.Len() > 0 || noAnswer(e)):
			return errors.Join(v.end(), a.Print(v.draw(e, v.tale.Tell(e))))
		}
		return nil
	})
	_ = v.end()
}
