package mcptool

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// result is the answer of a server to a call.
func (e *execution) result(x exchange) remote.Attempt {
	r := x.result
	switch kind := resultType(r); {
	// the server says that it has done nothing yet, and is believed
	case r.NeedsInput() && len(r.InputRequests) == 0:
		e.asked, e.answers = &asked{State: r.RequestState}, nil
		return remote.Refused{Said: "The MCP server " + e.host() + " is busy and did not finish the call. Call again later.",
			Retry: true, Certain: true, After: x.after}
	case r.NeedsInput():
		return remote.Answered{Outcome: e.ask(r)}
	// perhaps a task, which has begun and whose end would not be reported
	case kind != "" && kind != "complete":
		return remote.Unknown{Why: fmt.Sprintf("it answered with a result type that this program does not support (%s)", begin(e.values, kind, 40))}
	}
	return remote.Answered{Outcome: e.finished(r), Settled: true}
}

// finished is the result of a completed call: a success or a failure of the tool.
func (e *execution) finished(r *mcp.CallToolResult) core.Outcome {
	e.forget()
	c := &content{e: e, room: int(e.tool.MCP.Most())}
	for _, part := range r.Content {
		c.add(part)
	}
	text := strings.Join(c.texts, "\n")
	if len(c.texts) == 0 && r.StructuredContent != nil {
		raw, err := core.EncodeAny(r.StructuredContent)
		if err == nil {
			text = string(raw)
		}
	}
	// A cut could split a secret, which would then not be recognized, so secrets are hidden
	// first.
	text = core.CutResult(e.hide(text), int(e.tool.MCP.Most()))
	if len(c.notes) > 0 {
		text = strings.TrimPrefix(text+"\n"+strings.Join(c.notes, "\n"), "\n")
	}
	if text == "" && r.IsError {
		text = "The tool failed, and the MCP server gave no reason."
	} else if text == "" && len(c.media) == 0 {
		text = "The MCP server answered without text."
	}
	return core.Outcome{Text: text, Value: e.value(r), Media: c.media, Failed: r.IsError}
}

// value returns a result's structured content with its secrets hidden, or nil if it has none.
func (e *execution) value(r *mcp.CallToolResult) json.RawMessage {
	if r.StructuredContent == nil {
		return nil
	}
	raw, err := core.EncodeAny(r.StructuredContent)
	if err != nil {
		return nil
	}
	return json.RawMessage(e.hide(string(raw)))
}

// content collects the parts of a result.
type content struct {
	e     *execution
	texts []string
	media []core.Part
	notes []string // on what was left out
	room  int      // bytes of images and documents that may still be taken
}

// Limits of what is kept besides the text.
const (
	mostMedia = 8
	mostNotes = 8
)

// The types of images and documents that models accept.
var (
	images    = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	documents = []string{"application/pdf", "text/csv", "application/msword", "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"application/vnd.ms-excel", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}
)

func (c *content) add(part mcp.Content) {
	switch p := part.(type) {
	case *mcp.TextContent:
		c.texts = append(c.texts, p.Text)
	case *mcp.ImageContent:
		c.bytes("an image", p.MIMEType, "", p.Data)
	case *mcp.AudioContent:
		c.leave("a sound", p.MIMEType, len(p.Data), "models do not accept audio")
	case *mcp.ResourceLink:
		c.texts = append(c.texts, "[a link to "+begin(c.e.values, p.URI, mostShown)+"]")
	case *mcp.EmbeddedResource:
		c.resource(p.Resource)
	default:
		c.leave("something", "", 0, "this program does not support its type")
	}
}

func (c *content) resource(r *mcp.ResourceContents) {
	switch {
	case r == nil:
	case len(r.Blob) > 0:
		c.bytes("a document", r.MIMEType, r.URI, r.Blob)
	default:
		c.texts = append(c.texts, r.Text)
	}
}

// bytes adds an image or a document that fits.
func (c *content) bytes(what, media, uri string, data []byte) {
	media = strings.ToLower(strings.TrimSpace(strings.SplitN(media, ";", 2)[0]))
	part := core.Part{Type: core.PartImage, Media: media, Data: data}
	if slices.Contains(documents, media) {
		part.Type, part.Name = core.PartDocument, begin(c.e.values, path.Base(uri), 100)
	}
	switch {
	case part.Type == core.PartImage && !slices.Contains(images, media):
		c.leave(what, media, len(data), "models do not accept this type")
	case len(data) > c.room || len(c.media) >= mostMedia:
		c.leave(what, media, len(data), "the result is too large")
	case c.e.values.In(string(data)):
		c.leave(what, media, len(data), "it contains a secret")
	default:
		c.room -= len(data)
		c.media = append(c.media, part)
	}
}

func (c *content) leave(what, media string, size int, why string) {
	if len(c.notes) < mostNotes {
		c.notes = append(c.notes, fmt.Sprintf("[%s was left out: %s (%s, %d bytes)]", what, why, begin(c.e.values, media, 60), size))
	}
}
