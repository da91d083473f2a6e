package agui

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// inputPart is a part of a user's message.
type inputPart struct {
	Type     string        `json:"type"`
	Text     string        `json:"text,omitempty"`
	Source   *inputSource  `json:"source,omitempty"`
	Data     string        `json:"data,omitempty"`     // of the type "binary", before 1.0
	MimeType string        `json:"mimeType,omitempty"` // of the type "binary"
	Filename string        `json:"filename,omitempty"` // of the type "binary"
	Metadata *partMetadata `json:"metadata,omitempty"`
}

type inputSource struct {
	Type     string `json:"type"`
	Value    string `json:"value"`
	MimeType string `json:"mimeType"`
}

// partMetadata has the name of a document where CopilotKit puts it.
type partMetadata struct {
	Filename string `json:"filename"`
}

// UnmarshalJSON takes any value: clients put there what they like.
func (m *partMetadata) UnmarshalJSON(raw []byte) error {
	type plain partMetadata
	_ = json.Unmarshal(raw, (*plain)(m))
	return nil
}

const (
	sourceData = "data"
	typeBinary = "binary"
)

// Input is the message as the input of a run: its texts, images and documents. What isn't in the
// message itself is left out, because the server opens no addresses for a client. nil if nothing is
// left.
func (m InputMessage) Input() json.RawMessage {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		if text == "" {
			return nil
		}
		return core.Encode(text)
	}
	var sent []inputPart
	if json.Unmarshal(m.Content, &sent) != nil {
		return nil
	}
	var parts []wire.Part
	for _, p := range sent {
		if part, ok := p.read(); ok {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return core.Encode(parts)
}

func (p inputPart) read() (part wire.Part, ok bool) {
	var media, encoded string
	name := p.Filename
	switch {
	case p.Type == core.PartText:
		return wire.Part{Type: core.PartText, Text: p.Text}, p.Text != ""
	case p.Type == typeBinary:
		media, encoded = p.MimeType, p.Data
	case p.Source == nil || p.Source.Type != sourceData:
		return part, false
	default:
		media, encoded = p.Source.MimeType, p.Source.Value
	}
	if p.Metadata != nil {
		name = cmp.Or(name, p.Metadata.Filename)
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) == 0 {
		return part, false
	}
	if strings.HasPrefix(media, "image/") {
		return wire.Part{Type: core.PartImage, MediaType: media, Data: data}, true
	}
	return wire.Part{Type: core.PartDocument, MediaType: media, Name: name, Data: data}, true
}

// inputParts are the parts of a user's message as a client sends them. All versions since 0.0.40
// know these types.
func inputParts(sent []wire.Part) []inputPart {
	parts := make([]inputPart, len(sent))
	for i, p := range sent {
		switch {
		case !project.IsFile(p):
			parts[i] = inputPart{Type: core.PartText, Text: p.Text}
		case p.Data == nil:
			parts[i] = inputPart{Type: core.PartText, Text: project.Unshown(p)}
		default:
			parts[i] = inputPart{Type: p.Type, Source: &inputSource{sourceData, base64.StdEncoding.EncodeToString(p.Data), p.MediaType}}
			if p.Name != "" {
				parts[i].Metadata = &partMetadata{p.Name}
			}
		}
	}
	return parts
}

func hasFiles(m *Message) bool { return slices.ContainsFunc(m.sent, project.IsFile) }
