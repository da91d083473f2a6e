package project

import (
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// MostFiles bounds the bytes of images and documents that a conversation is shown with. Chats send
// all that they show with each message, and a request has 1 MiB.
const MostFiles = 384 << 10

// Files are the images and documents of a conversation, of which the newest are kept. Projections
// hold messages without these bytes, and add them where they show all messages. The zero value has
// none.
type Files struct {
	of    map[string][]wire.Part // by message
	kept  []*wire.Part
	bytes int
}

// Take keeps the files of the next event of the conversation, if it is a message, and returns the
// event without their bytes.
func (f *Files) Take(e wire.Event) (wire.Event, error) {
	var data wire.MessageReceivedData
	if core.EventType(e.Type) != core.EventMessageReceived {
		return e, nil
	}
	if err := e.Decode(&data); err != nil || data.Parts == nil {
		return e, err
	}
	f.add(data)
	data.Parts = append([]wire.Part(nil), data.Parts...)
	for i := range data.Parts {
		data.Parts[i].Data = nil
	}
	e.Data = core.Encode(data)
	return e, nil
}

func (f *Files) add(data wire.MessageReceivedData) {
	if f.of == nil {
		f.of = map[string][]wire.Part{}
	}
	f.of[data.MessageID] = data.Parts
	for i := range data.Parts {
		switch p := &data.Parts[i]; {
		case len(p.Data) > MostFiles:
			p.Data = nil
		case len(p.Data) > 0:
			f.kept = append(f.kept, p)
			f.bytes += len(p.Data)
		}
	}
	for ; f.bytes > MostFiles; f.kept = f.kept[1:] {
		f.bytes -= len(f.kept[0].Data)
		f.kept[0].Data = nil
	}
}

// Of are the parts of a message, with the bytes of those that are kept.
func (f *Files) Of(message string, parts []wire.Part) []wire.Part {
	if kept := f.of[message]; len(kept) == len(parts) {
		return kept
	}
	return parts
}

// IsFile says whether the part is an image or a document.
func IsFile(p wire.Part) bool { return p.MediaType != "" }

// Unshown is what is shown in place of a file without bytes.
func Unshown(p wire.Part) string {
	what := strings.TrimPrefix(p.Name+", "+p.MediaType, ", ")
	return fmt.Sprintf("[%s, %d bytes, isn't shown]", what, p.Bytes)
}
