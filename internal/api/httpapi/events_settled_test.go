package httpapi_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// settledTimes are how far from the time of its event each moment is in an example. What isn't here
// is at that time.
var settledTimes = map[string]time.Duration{"asked_at": -1834 * time.Millisecond, "started_at": -862 * time.Millisecond, "ended_at": -4 * time.Millisecond,
	"deadline": 24 * time.Hour, "try_at": 2 * time.Second}

// settledNumbers are the durations of an example.
var settledNumbers = map[string]int{"latency_ms": 1829, "first_token_ms": 412}

var (
	randomText   = regexp.MustCompile(`\b(thr|run|msg)_([a-z2-7]{16,})`)
	randomSus    = regexp.MustCompile(`\bsus_([0-9a-z]+)_[a-z2-7]{26}_[a-z2-7]{24,26}\b`)
	fingerprints = regexp.MustCompile(`"v1:[0-9a-f]{64}"`)
	someDigest   = regexp.MustCompile(`("digest": ?)"[0-9a-f]{64}"`)
	ofInterrupt  = regexp.MustCompile(`("id": ?)"[0-9a-f]{16}"`)
	someTime     = regexp.MustCompile(`"(\w+)": ?"\d{4}-\d\d-\d\dT[0-9:.]+Z"`)
	someDuration = regexp.MustCompile(`"(\w+_ms)": ?\d+`)
)

// settled is an event of a real run as the page shows it: its members in the order of the tables,
// and whatever differs from one run to the next (ids, moments, durations, and the digests of them)
// replaced by something that does not. Within a story the same id stays the same.
func settled(t *testing.T, story string, e wire.Event) string {
	t.Helper()
	if make := wire.EventData[e.Type]; make != nil {
		data := make()
		if err := json.Unmarshal(e.Data, data); err != nil {
			t.Fatal(err)
		}
		e.Data = core.Encode(data)
	}
	thread := settledText(story, 24)
	e.Cursor = settledCursor(t, e.Cursor, "thr_"+thread)
	at := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(7*storyNumber(story))*time.Minute + time.Duration(e.Seq)*211*time.Millisecond)
	text := randomText.ReplaceAllString(string(core.Encode(e)), "${1}_"+thread)
	text = randomSus.ReplaceAllStringFunc(text, func(sus string) string {
		n := randomSus.FindStringSubmatch(sus)[1]
		return "sus_" + n + "_" + settledText(story+n, 26) + "_" + thread
	})
	text = fingerprints.ReplaceAllString(text, `"v1:`+settledDigest(story+" fingerprint")+`"`)
	text = someDigest.ReplaceAllString(text, `${1}"`+settledDigest(story+" decision")+`"`)
	bodyRan := strings.Contains(text, `"started_at"`)
	text = ofInterrupt.ReplaceAllString(text, `${1}"`+settledDigest(story + " interrupt")[:16]+`"`)
	text = someTime.ReplaceAllStringFunc(text, func(found string) string {
		name := someTime.FindStringSubmatch(found)[1]
		from := settledTimes[name]
		if name == "ended_at" && !bodyRan {
			from = 0
		}
		return fmt.Sprintf("%q:%s", name, core.Encode(wire.Time{Time: at.Add(from)}))
	})
	text = someDuration.ReplaceAllStringFunc(text, func(found string) string {
		name := someDuration.FindStringSubmatch(found)[1]
		return fmt.Sprintf("%q:%d", name, settledNumbers[name])
	})
	return laidOutEvent(json.RawMessage(text), 110)
}

func storyNumber(name string) int {
	for i, s := range stories {
		if s.name == name {
			return i
		}
	}
	return len(stories)
}

// settledText stands for random text in the ids of a story.
func settledText(of string, n int) string {
	sum := sha256.Sum256([]byte(of))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:n]
}

func settledDigest(of string) string { return core.Digest([]byte(of)) }

// settledCursor is the cursor that the same place has in a thread of another id.
func settledCursor(t *testing.T, cursor, thread string) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	last := bytes.LastIndexByte(raw, '.')
	if err != nil || last < 0 {
		t.Fatalf("the cursor %q is of another form: %v", cursor, err)
	}
	return base64.RawURLEncoding.EncodeToString(slices.Concat(raw[:last+1], []byte(core.Digest([]byte(thread))[:6])))
}

// laidOutEvent is an event for readers. Its members share lines as long as they fit, but for its
// data.
func laidOutEvent(raw json.RawMessage, width int) string {
	lines := []string{"  "}
	for i, m := range membersOf(raw) {
		last := &lines[len(lines)-1]
		if i > 0 {
			*last += ","
		}
		text := string(m.name) + ": " + laidOut(m.value, "  ", width)
		switch alone := *last == "  "; {
		case alone:
			*last += text
		case strings.HasSuffix(*last, "},") || strings.HasPrefix(text, `"data"`) || len(*last)+1+len(text) > width:
			lines = append(lines, "  "+text)
		default:
			*last += " " + text
		}
	}
	return "{\n" + strings.Join(lines, "\n") + "\n}"
}

// laidOut is a JSON text for readers: what fits into a line stands in one.
func laidOut(raw json.RawMessage, indent string, width int) string {
	line := inOneLine(raw)
	open := raw[0]
	if len(indent)+len(line) <= width || open != '{' && open != '[' {
		return line
	}
	var lines []string
	for _, m := range membersOf(raw) {
		name := ""
		if open == '{' {
			name = string(m.name) + ": "
		}
		lines = append(lines, indent+"  "+name+laidOut(m.value, indent+"  ", width-len(name)))
	}
	// } is two behind {, and ] behind [
	return string(open) + "\n" + strings.Join(lines, ",\n") + "\n" + indent + string(open+2)
}

// inOneLine is a JSON text with a space behind each colon and comma.
func inOneLine(raw json.RawMessage) string {
	if raw[0] != '{' && raw[0] != '[' {
		return string(raw)
	}
	var all []string
	for _, m := range membersOf(raw) {
		if text := inOneLine(m.value); m.name != nil {
			all = append(all, string(m.name)+": "+text)
		} else {
			all = append(all, text)
		}
	}
	return string(raw[0]) + strings.Join(all, ", ") + string(raw[0]+2)
}

// member is one of an object, with its name as JSON, or an entry of an array.
type member struct{ name, value json.RawMessage }

// membersOf are those of an object or array, in their order.
func membersOf(raw json.RawMessage) (all []member) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, _ = dec.Token() // the text is valid
	for dec.More() {
		var m member
		if raw[0] == '{' {
			name, _ := dec.Token()
			m.name = core.Encode(name)
		}
		_ = dec.Decode(&m.value)
		all = append(all, m)
	}
	return all
}
