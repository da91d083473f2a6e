package cmdline

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/display"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// mostFiles is the maximum total size of attached files in bytes. With base64 and the rest of the
// request, it stays below the server's limit of 1 MB.
const mostFiles = 740 << 10

var imageEndings = map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}

var documentEndings = map[string]string{".pdf": "application/pdf", ".txt": "text/plain", ".csv": "text/csv", ".html": "text/html", ".htm": "text/html",
	".md": "text/markdown", ".doc": "application/msword", ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xls": "application/vnd.ms-excel", ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}

// InputFiles are the images and documents of an input.
type InputFiles struct{ images, documents []string }

// Flags adds the flags --image and --document.
func (f *InputFiles) Flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.images, "image", nil, "attach this image `FILE`: "+endings(imageEndings)+"; repeatable")
	flags.StringArrayVar(&f.documents, "document", nil, "attach this document `FILE`: "+endings(documentEndings)+"; repeatable")
}

func endings(of map[string]string) string {
	return strings.ReplaceAll(strings.Join(slices.Sorted(maps.Keys(of)), " "), ".", "")
}

// Any says whether a file was named.
func (f *InputFiles) Any() bool { return len(f.images)+len(f.documents) > 0 }

// inputPart is a part of an input, as the server reads it: no member that does not belong to its
// type.
type inputPart struct {
	Type  string          `json:"type"`
	Text  json.RawMessage `json:"text,omitempty"`
	Media string          `json:"media_type,omitempty"`
	Name  string          `json:"name,omitempty"`
	Data  []byte          `json:"data,omitempty"`
}

// With is a text and the files behind it as an input.
func (f *InputFiles) With(text json.RawMessage) (json.RawMessage, error) {
	if !f.Any() {
		return text, nil
	}
	parts := []inputPart{{Type: "text", Text: text}}
	total := 0
	add := func(flag, kind string, files []string, known map[string]string) error {
		for _, file := range files {
			part, err := readFilePart(flag, file, known)
			if err != nil {
				return err
			}
			if part.Type = kind; kind == "document" {
				part.Name = documentName(file)
			}
			parts, total = append(parts, part), total+len(part.Data)
		}
		return nil
	}
	if err := add("--image", "image", f.images, imageEndings); err != nil {
		return nil, err
	}
	if err := add("--document", "document", f.documents, documentEndings); err != nil {
		return nil, err
	}
	if total > mostFiles {
		return nil, Usagef("the attached files have %s in total, and the maximum is %s; attach fewer files or make images smaller",
			sizeText(total), sizeText(mostFiles))
	}
	return core.EncodeAny(parts)
}

func readFilePart(flag, file string, known map[string]string) (part inputPart, err error) {
	media, ok := known[strings.ToLower(filepath.Ext(file))]
	if !ok {
		return part, Usagef("%s: the file %s has an unknown extension; use one of: %s", flag, file, endings(known))
	}
	f, err := os.Open(file)
	if err != nil {
		return part, Usagef("%s: cannot read the file: %v", flag, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostFiles+1))
	switch {
	case err != nil:
		return part, Usagef("%s: cannot read the file: %v", flag, err)
	case len(data) == 0:
		return part, Usagef("%s: the file %s is empty", flag, file)
	case len(data) > mostFiles:
		return part, Usagef("%s: the file %s is larger than the maximum of %s; make it smaller", flag, file, sizeText(mostFiles))
	}
	return inputPart{Media: media, Data: data}, nil
}

// documentName is what the model may call a document: the file's name without its ending, as far as
// the server takes it.
func documentName(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	const most = 200
	for len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return name
}

// MediaLines show the images and documents of a message.
func MediaLines(m wire.Message) (lines []string) {
	for _, p := range m.Parts {
		switch p.Type {
		case "image":
			lines = append(lines, display.Clean(fmt.Sprintf("[image %s, %s]", p.MediaType, sizeText(p.Bytes))))
		case "document":
			name := ""
			if p.Name != "" {
				name = fmt.Sprintf("%q ", display.OneLine(p.Name))
			}
			lines = append(lines, display.Clean(fmt.Sprintf("[document %s%s, %s]", name, p.MediaType, sizeText(p.Bytes))))
		}
	}
	return lines
}

// sizeText is a number of bytes for a person.
func sizeText(bytes int) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%d KB", (bytes+512)/1024)
}
