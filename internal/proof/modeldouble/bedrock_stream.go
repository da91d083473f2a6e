package modeldouble

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// bedrockStream answers ConverseStream.
type bedrockStream struct {
	w    http.ResponseWriter
	said Said
	sent int // deltas
	half int // after so many, what breaks breaks
}

func (s *bedrockStream) run() {
	s.w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	s.w.WriteHeader(http.StatusOK)
	s.half = (s.count() + 1) / 2
	s.event("messageStart", map[string]any{"role": "assistant"})
	if s.count() == 0 && !s.goesOn() {
		return
	}
	for i, p := range bedrockBlocks(s.said) {
		if !s.block(i, p) {
			return
		}
	}
	if s.said.Fault == Cut {
		return
	}
	if s.said.Fault == UnknownEvent {
		s.event("sparkle", map[string]any{"bright": true})
	}
	s.event("messageStop", map[string]any{"stopReason": bedrockStop(s.said)})
	if s.said.Fault != NoUsage && !s.said.Turn.NoUsage {
		s.event("metadata", map[string]any{"usage": bedrockUsage(s.said.Turn), "metrics": map[string]any{"latencyMs": 1}})
	}
}

// block sends one block, and says whether to go on.
func (s *bedrockStream) block(index int, p bedrockBlock) bool {
	if p.Type == core.PartCall {
		s.event("contentBlockStart", map[string]any{"contentBlockIndex": index,
			"start": map[string]any{"toolUse": map[string]any{"toolUseId": p.call.ID, "name": p.call.Name}}})
	}
	for _, delta := range s.deltas(p) {
		s.event("contentBlockDelta", map[string]any{"contentBlockIndex": index, "delta": delta})
		s.sent++
		if s.said.Shown != nil {
			s.said.Shown(s.sent)
		}
		if s.sent == s.half && !s.goesOn() {
			return false
		}
	}
	s.event("contentBlockStop", map[string]any{"contentBlockIndex": index})
	return true
}

func (s *bedrockStream) count() (n int) {
	for _, p := range bedrockBlocks(s.said) {
		n += len(s.deltas(p))
	}
	return n
}

func (s *bedrockStream) deltas(p bedrockBlock) (out []any) {
	switch p.Type {
	case core.PartCall:
		for _, piece := range s.pieces(string(p.call.Arguments)) {
			out = append(out, map[string]any{"toolUse": map[string]any{"input": piece}})
		}
	case core.PartReasoning:
		if p.Text == "" && len(p.Sealed) > 0 {
			return []any{map[string]any{"reasoningContent": map[string]any{"redactedContent": bedrockSealed(p.Sealed)}}}
		}
		for _, piece := range s.pieces(p.Text) {
			out = append(out, map[string]any{"reasoningContent": map[string]any{"text": piece}})
		}
		out = append(out, map[string]any{"reasoningContent": map[string]any{"signature": bedrockSignature(p.Text)}})
	default:
		for _, piece := range s.pieces(p.Text) {
			out = append(out, map[string]any{"text": piece})
		}
	}
	return out
}

func (s *bedrockStream) pieces(text string) []string { return bedrockPieces(text, s.said.Piece) }

// bedrockPieces are a text in pieces of about so many bytes, none cut within a character.
func bedrockPieces(text string, size int) (out []string) {
	for size > 0 && len(text) > size {
		cut := size
		for cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut++
		}
		out, text = append(out, text[:cut]), text[cut:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

// goesOn breaks what shall break in the middle, and says whether the stream goes on.
func (s *bedrockStream) goesOn() bool {
	switch s.said.Fault {
	case Aborted:
		panic(http.ErrAbortHandler)
	case HalfFrame:
		frame := s.frame("contentBlockDelta", map[string]any{"contentBlockIndex": 0, "delta": map[string]any{"text": "never heard"}})
		s.write(frame[:len(frame)/2])
		panic(http.ErrAbortHandler)
	case Garbled:
		frame := s.frame("contentBlockStop", map[string]any{"contentBlockIndex": 0})
		frame[len(frame)-1] ^= 0xff
		s.write(frame)
	case LateThrottled:
		s.exception("throttlingException", "Too many requests, please wait before trying again.")
	case LateError:
		s.exception("internalServerException", "An internal server error occurred.")
	default:
		return true
	}
	return false
}

func (s *bedrockStream) event(kind string, body map[string]any) { s.write(s.frame(kind, body)) }

func (s *bedrockStream) frame(kind string, body map[string]any) []byte {
	return bedrockFrame(core.Encode(body), ":event-type", kind, ":content-type", "application/json", ":message-type", "event")
}

func (s *bedrockStream) exception(kind, message string) {
	payload := core.Encode(map[string]string{"message": message})
	s.write(bedrockFrame(payload, ":exception-type", kind, ":content-type", "application/json", ":message-type", "exception"))
}

// bedrockFrame is a message of the event stream with headers given by name and value.
func bedrockFrame(payload []byte, headers ...string) []byte {
	m := eventstream.Message{Payload: payload}
	for i := 0; i < len(headers); i += 2 {
		m.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	var buf bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&buf, m); err != nil {
		panic(err) // of headers that are too long, which none is
	}
	return buf.Bytes()
}

// write sends bytes at once. When nobody reads any more the answer is given up.
func (s *bedrockStream) write(b []byte) {
	if _, err := s.w.Write(b); err != nil {
		panic(http.ErrAbortHandler)
	}
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// bedrockKey is what the double signs with. It is no secret: nobody but tests talks to it.
var bedrockKey = []byte("modeldouble")

func bedrockMark(what string, data []byte) []byte {
	h := hmac.New(sha256.New, bedrockKey)
	h.Write([]byte(what + "\x00"))
	h.Write(data)
	return h.Sum(nil)
}

// bedrockSignature is what the double signs a reasoning text with.
func bedrockSignature(text string) string {
	return base64.StdEncoding.EncodeToString(bedrockMark("reasoning", []byte(text)))
}

// bedrockSealed is what nobody can read, with a mark before it by which it is known again.
func bedrockSealed(data []byte) []byte { return append(bedrockMark("redacted", data), data...) }

// bedrockUnsealed is what was sealed; false if it was not, or was changed.
func bedrockUnsealed(data []byte) ([]byte, bool) {
	if len(data) < sha256.Size {
		return nil, false
	}
	return data[sha256.Size:], hmac.Equal(bedrockMark("redacted", data[sha256.Size:]), data[:sha256.Size])
}
