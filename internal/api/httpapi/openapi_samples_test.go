package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// Files with what the server returned to the examples. Tests with curl and tests that play runs
// write them; the document and the pages are built from them.
const (
	samplesFile      = "testdata/openapi_samples.json"
	eventSamplesFile = "testdata/openapi_event_samples.json"
)

// Sample is a request that curl sent to the server, and its response.
type Sample struct {
	Operation string `json:"operation"`
	About     string `json:"about,omitempty"` // what it shows, if the operation has several
	Command   string `json:"command"`
	Status    int    `json:"status"`
	Header    string `json:"header,omitempty"` // one that matters
	Answer    string `json:"answer,omitempty"`
}

// EventSample is an event of a played run.
type EventSample struct {
	About string `json:"about,omitempty"` // what it shows, if the type has several
	Event string `json:"event"`
}

var samples = sync.OnceValue(func() []Sample { return readSamples[[]Sample](samplesFile) })

var eventSamples = sync.OnceValue(func() map[string][]EventSample { return readSamples[map[string][]EventSample](eventSamplesFile) })

// readSamples reads a file of samples; without one there are none yet.
func readSamples[T any](file string) (all T) {
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil && !os.IsNotExist(err) {
		panic(err)
	}
	return all
}

func samplesOf(operation string) (of []Sample) {
	for _, s := range samples() {
		if s.Operation == operation {
			of = append(of, s)
		}
	}
	return of
}

// CheckSamples holds the stored samples against those that curl has just made, and the document and
// the page against both.
func CheckSamples(t *testing.T, made []Sample) {
	t.Helper()
	checkFile(t, samplesFile, string(written(t, made)))
	samples = func() []Sample { return made }
	checkDocument(t)
	CheckPage(t)
}

// CheckEventSamples does the same for events.
func CheckEventSamples(t *testing.T, made map[string][]EventSample) {
	t.Helper()
	checkFile(t, eventSamplesFile, string(written(t, made)))
	eventSamples = func() map[string][]EventSample { return made }
	checkDocument(t)
	checkEventsPage(t)
}

// show adds the samples of an operation: their curl lines, and what the server returned.
func (op *operation) show(operation string) (missing []string) {
	for _, s := range samplesOf(operation) {
		label := s.About
		if label == "" {
			label = op.Summary
		}
		op.CodeSamples = append(op.CodeSamples, codeSample{Lang: "Shell", Label: label, Source: s.Command})
		r, ok := op.Responses[fmt.Sprint(s.Status)]
		if !ok || r.Ref != "" {
			missing = append(missing, fmt.Sprintf("%s: a place for the sample with status %d", operation, s.Status))
			continue
		}
		if name, value, ok := strings.Cut(s.Header, ": "); ok && r.Headers[name].Schema != nil {
			of := r.Headers[name]
			of.Example = value
			r.Headers[name] = of
		}
		if s.Answer != "" && operation != "openapi" { // whose answer is this document
			addSample(r, s, label)
		}
	}
	return missing
}

func addSample(r response, s Sample, label string) {
	media, value := mediaJSON, json.RawMessage(s.Answer)
	switch {
	case !json.Valid(value):
		media, value = mediaStream, quotedText(s.Answer)
	case s.Status >= 400:
		media = mediaProblem
	}
	of := r.Content[media]
	if of.Examples == nil {
		of.Examples = map[string]openExample{}
	}
	of.Examples[fmt.Sprintf("example%d", len(of.Examples)+1)] = openExample{Summary: label, Value: value}
	r.Content[media] = of
}

func quotedText(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always has JSON
	return bytes.TrimSpace(b.Bytes())
}
