package recording

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Types of a content part, with the names of the OpenAI chat format.
const (
	fileText  = "text"
	fileImage = "image_url"
	fileFile  = "file"
)

// filePart is a part of a content in a file. Images and documents are data: URLs, because the
// content at another address may change.
type filePart struct {
	Type  string        `json:"type"`
	Text  *string       `json:"text,omitempty"`
	Image *fileImageURL `json:"image_url,omitempty"`
	File  *fileDocument `json:"file,omitempty"`
}

type fileImageURL struct {
	URL string `json:"url"`
}

type fileDocument struct {
	Name string `json:"filename,omitempty"`
	Data string `json:"file_data"`
}

// readContent reads text, null or a list of parts.
func readContent(raw json.RawMessage) ([]core.Part, error) {
	if core.IsNull(raw) {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return core.TextParts(text), nil
	}
	var list []filePart
	if json.Unmarshal(raw, &list) != nil {
		return nil, errors.New("content must be text, null or a list of parts")
	}
	var parts []core.Part
	for i, p := range list {
		part, err := p.read()
		if err != nil {
			return nil, fmt.Errorf("content part %d %w", i+1, err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func (p filePart) read() (part core.Part, err error) {
	switch {
	case p.Type == fileText && p.Text != nil:
		return core.Part{Type: core.PartText, Text: *p.Text}, nil
	case p.Type == fileImage && p.Image != nil:
		part = core.Part{Type: core.PartImage}
		part.Media, part.Data, err = readDataURL(p.Image.URL)
		return part, err
	case p.Type == fileFile && p.File != nil:
		part = core.Part{Type: core.PartDocument, Name: p.File.Name}
		part.Media, part.Data, err = readDataURL(p.File.Data)
		return part, err
	}
	return part, fmt.Errorf("has the type %q, which cannot be replayed; use text, image_url or file, with the matching member", p.Type)
}

// readDataURL does not quote what it rejects, which may be an address with a key in it.
func readDataURL(url string) (media string, data []byte, err error) {
	rest, isData := strings.CutPrefix(url, "data:")
	media, encoded, isBase64 := strings.Cut(rest, ";base64,")
	if !isData || !isBase64 || media == "" {
		return "", nil, errors.New(`is not embedded in the file; write it as "data:image/png;base64,..."`)
	}
	if data, err = base64.StdEncoding.DecodeString(encoded); err != nil {
		return "", nil, errors.New("has data that is not base64")
	}
	return media, data, nil
}

// contentOf returns what a message says, without reasoning and without the positions of calls,
// which the format cannot express.
func contentOf(m core.Message) json.RawMessage {
	var parts []filePart
	plain := true
	for _, p := range m.Parts {
		switch p.Type {
		case core.PartText:
			parts = append(parts, filePart{Type: fileText, Text: &p.Text})
		case core.PartImage:
			parts, plain = append(parts, filePart{Type: fileImage, Image: &fileImageURL{dataURL(p)}}), false
		case core.PartDocument:
			parts, plain = append(parts, filePart{Type: fileFile, File: &fileDocument{p.Name, dataURL(p)}}), false
		}
	}
	switch {
	case len(parts) > 1, !plain:
		return core.Encode(parts)
	case m.Text() == "" && len(m.Calls) > 0:
		return json.RawMessage(`null`)
	}
	return core.Encode(m.Text())
}

func dataURL(p core.Part) string {
	return "data:" + p.Media + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// media returns the images and documents of a message.
func media(m core.Message) (parts []core.Part) {
	for _, p := range m.Parts {
		if p.Type == core.PartImage || p.Type == core.PartDocument {
			parts = append(parts, p)
		}
	}
	return parts
}

// mediaWords identifies the images and documents of a message, for comparison.
func mediaWords(m core.Message) string {
	var words []string
	for _, p := range media(m) {
		words = append(words, fmt.Sprintf("%s %s %q, %d bytes, %.12s", p.Type, p.Media, p.Name, len(p.Data), core.Digest(p.Data)))
	}
	return strings.Join(words, "; ")
}
