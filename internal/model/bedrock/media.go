package bedrock

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// The formats that Bedrock accepts, by media type.
var (
	images = map[string]types.ImageFormat{
		"image/png": types.ImageFormatPng, "image/jpeg": types.ImageFormatJpeg, "image/jpg": types.ImageFormatJpeg,
		"image/gif": types.ImageFormatGif, "image/webp": types.ImageFormatWebp,
	}
	documents = map[string]types.DocumentFormat{
		"application/pdf": types.DocumentFormatPdf, "text/csv": types.DocumentFormatCsv, "text/html": types.DocumentFormatHtml,
		"text/plain": types.DocumentFormatTxt, "text/markdown": types.DocumentFormatMd, "application/msword": types.DocumentFormatDoc,
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": types.DocumentFormatDocx,
		"application/vnd.ms-excel": types.DocumentFormatXls,
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": types.DocumentFormatXlsx,
	}
)

// Bedrock's limits for an image and for a document, in bytes. A larger one would make it reject
// every later request of the thread.
const (
	largestImage    = 3_750_000
	largestDocument = 4_500_000
)

// piece is one block of a user's message or of a result; exactly one field is set.
type piece struct {
	text     string
	image    *types.ImageBlock
	document *types.DocumentBlock
}

// pieces converts the parts that Bedrock accepts from users and tools. Other parts become a note,
// and an empty text nothing.
func (c *conversation) pieces(parts []core.Part) []piece {
	var out []piece
	for _, p := range parts {
		switch p.Type {
		case core.PartText, "":
			if strings.TrimSpace(p.Text) != "" {
				out = append(out, piece{text: p.Text})
			}
		case core.PartImage:
			out = append(out, image(p))
		case core.PartDocument:
			out = append(out, c.document(p)...)
		}
	}
	return out
}

func image(p core.Part) piece {
	format, known := images[mediaType(p.Media)]
	switch {
	case !known:
		return piece{text: fmt.Sprintf("[An image of type %q is left out: only PNG, JPEG, GIF and WebP can be shown.]", clipped(p.Media))}
	case len(p.Data) == 0 || len(p.Data) > largestImage:
		return piece{text: fmt.Sprintf("[An image is left out: it has %d bytes, and 1 to %d can be shown.]", len(p.Data), largestImage)}
	}
	return piece{image: &types.ImageBlock{Format: format, Source: &types.ImageSourceMemberBytes{Value: p.Data}}}
}

// document converts a document together with the text that Bedrock requires beside it. The
// document's own name is not sent, because models follow a name as they follow an instruction, and
// anyone may have chosen it. It gets a number as its name.
func (c *conversation) document(p core.Part) []piece {
	format, known := documents[mediaType(p.Media)]
	switch {
	case !known:
		return []piece{{text: fmt.Sprintf("[A document of type %q is left out: it cannot be read.]", clipped(p.Media))}}
	case len(p.Data) == 0 || len(p.Data) > largestDocument:
		return []piece{{text: fmt.Sprintf("[A document is left out: it has %d bytes, and 1 to %d can be read.]", len(p.Data), largestDocument)}}
	}
	c.documents++
	name := fmt.Sprintf("document-%d", c.documents)
	note := fmt.Sprintf("[%s is attached.]", name)
	source := &types.DocumentSourceMemberBytes{Value: p.Data}
	return []piece{{text: note}, {document: &types.DocumentBlock{Name: &name, Format: format, Source: source}}}
}

// mediaType returns the type without its parameters.
func mediaType(media string) string {
	kind, _, _ := strings.Cut(media, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// clipped returns the beginning of a text from outside.
func clipped(text string) string { return clip.Runes(text, 120, "…") }

func messageBlocks(pieces []piece) []types.ContentBlock {
	var out []types.ContentBlock
	for _, p := range pieces {
		switch {
		case p.image != nil:
			out = append(out, &types.ContentBlockMemberImage{Value: *p.image})
		case p.document != nil:
			out = append(out, &types.ContentBlockMemberDocument{Value: *p.document})
		default:
			out = append(out, text(p.text))
		}
	}
	return out
}

func resultBlocks(pieces []piece) []types.ToolResultContentBlock {
	var out []types.ToolResultContentBlock
	for _, p := range pieces {
		switch {
		case p.image != nil:
			out = append(out, &types.ToolResultContentBlockMemberImage{Value: *p.image})
		case p.document != nil:
			out = append(out, &types.ToolResultContentBlockMemberDocument{Value: *p.document})
		default:
			out = append(out, &types.ToolResultContentBlockMemberText{Value: p.text})
		}
	}
	return out
}
