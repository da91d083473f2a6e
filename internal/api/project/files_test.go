package project_test

import (
	"bytes"
	"slices"
	"strconv"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// The newest files are kept, as many as there is room for; one without room takes none from others.
func TestTheNewestFilesAreKept(t *testing.T) {
	const third = project.MostFiles / 3
	file := func(size int) wire.Part {
		return wire.Part{Type: "image", MediaType: "image/png", Bytes: size, Data: make([]byte, size)}
	}
	messages := [][]wire.Part{
		{file(third)},
		{{Type: "text", Text: "see"}, file(third), file(third)},
		{file(project.MostFiles + 1)},
		{file(third / 2)},
	}
	var f project.Files
	bare := map[string][]wire.Part{}
	for i, parts := range messages {
		e := wire.Event{Type: string(core.EventMessageReceived), Data: core.Encode(wire.MessageReceivedData{MessageID: strconv.Itoa(i), Parts: parts})}
		e, err := f.Take(e)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(e.Data, []byte(`"data"`)) {
			t.Errorf("message %d still has the bytes", i)
		}
		var data wire.MessageReceivedData
		if err := e.Decode(&data); err != nil {
			t.Fatal(err)
		}
		bare[data.MessageID] = data.Parts
	}
	var shown []bool
	for i := range messages {
		id := strconv.Itoa(i)
		for _, p := range f.Of(id, bare[id]) {
			if project.IsFile(p) {
				shown = append(shown, p.Data != nil)
			}
		}
	}
	if want := []bool{false, true, true, false, true}; !slices.Equal(shown, want) {
		t.Fatalf("shown: %v, want %v", shown, want)
	}
}

func TestAFileWithoutBytesIsNamed(t *testing.T) {
	got := project.Unshown(wire.Part{Name: "a.pdf", MediaType: "application/pdf", Bytes: 12})
	if want := "[a.pdf, application/pdf, 12 bytes, isn't shown]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
