package modeldouble

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Bedrock answers Converse and ConverseStream as Bedrock does. Reasoning that it gives out is
// signed: a request that brings it back changed is refused. A reasoning part of what is said is
// text, or, if it has none, what stands in Sealed and nobody can read.
func Bedrock(answer Answer) http.Handler { return bedrock{answer} }

type bedrock struct{ answer Answer }

// What Bedrock answers a request in time, by fault.
var bedrockFaults = map[Fault]struct {
	status int
	code   string
	text   string
}{
	Throttled:   {http.StatusTooManyRequests, "ThrottlingException", "Too many requests, please wait before trying again."},
	NotReady:    {http.StatusTooManyRequests, "ModelNotReadyException", "The model is not ready for inference."},
	TimedOut:    {http.StatusRequestTimeout, "ModelTimeoutException", "Model has timed out in processing the request."},
	ServerError: {http.StatusInternalServerError, "InternalServerException", "An internal server error occurred."},
	Refused:     {http.StatusBadRequest, "ValidationException", "The provided request is not valid."},
	NotFound: {http.StatusNotFound, "ResourceNotFoundException",
		"Could not resolve arn:aws:bedrock:eu-central-1:123456789012:inference-profile/none."},
}

// ServeHTTP implements [http.Handler].
func (b bedrock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	model, stream, ok := bedrockPath(r.URL.Path)
	if !ok || r.Method != http.MethodPost {
		refuseBedrock(w, http.StatusNotFound, "UnknownOperationException", "There is no such operation.")
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // whoever asked has gone
	}
	asked, wrong := readBedrock(body)
	if wrong != nil {
		refuseBedrock(w, http.StatusBadRequest, "ValidationException", wrong.Error())
		return
	}
	asked.Model, asked.Stream, asked.Path, asked.Header, asked.Body = model, stream, r.URL.Path, r.Header.Clone(), body
	b.say(w, r, asked, b.answer(asked))
}

// bedrockPath reads /model/{id}/converse. An id may have slashes: it is escaped on its way, and the
// path is decoded.
func bedrockPath(path string) (model string, stream, ok bool) {
	rest, ok := strings.CutPrefix(path, "/model/")
	if !ok {
		return "", false, false
	}
	if model, stream = strings.CutSuffix(rest, "/converse-stream"); stream {
		return model, true, model != ""
	}
	model, ok = strings.CutSuffix(rest, "/converse")
	return model, false, ok && model != ""
}

func (b bedrock) say(w http.ResponseWriter, r *http.Request, asked Asked, s Said) {
	switch fault, early := bedrockFaults[s.Fault]; {
	case s.Fault == Unreachable:
		panic(http.ErrAbortHandler)
	case s.Fault == Forbidden:
		refuseBedrock(w, http.StatusForbidden, "AccessDeniedException", "User: arn:aws:sts::123456789012:assumed-role/step/step is not authorized to perform: "+
			"bedrock:InvokeModelWithResponseStream with "+bedrockEcho(r.Header))
	case early:
		refuseBedrock(w, fault.status, fault.code, fault.text)
	case asked.Stream:
		(&bedrockStream{w: w, said: s}).run()
	default:
		bedrockWhole(w, s)
	}
}

// bedrockEcho is what some gateways put into a refusal.
func bedrockEcho(h http.Header) string {
	return fmt.Sprintf("Authorization: %s X-Amz-Security-Token: %s", h.Get("Authorization"), h.Get("X-Amz-Security-Token"))
}

func refuseBedrock(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", code+":http://internal.amazon.com/coral/com.amazon.bedrock/")
	w.Header().Set("X-Amzn-Requestid", "00000000-0000-0000-0000-000000000000")
	w.WriteHeader(status)
	_, _ = w.Write(core.Encode(map[string]string{"message": message}))
}

// bedrockWhole answers Converse.
func bedrockWhole(w http.ResponseWriter, s Said) {
	switch s.Fault {
	case LateThrottled:
		refuseBedrock(w, bedrockFaults[Throttled].status, bedrockFaults[Throttled].code, bedrockFaults[Throttled].text)
		return
	case LateError:
		refuseBedrock(w, http.StatusFailedDependency, "ModelErrorException", "The model failed.")
		return
	}
	body := map[string]any{"metrics": map[string]any{"latencyMs": 1}, "stopReason": bedrockStop(s),
		"output": map[string]any{"message": map[string]any{"role": "assistant", "content": bedrockWholeBlocks(s)}}}
	if s.Fault != NoUsage && !s.Turn.NoUsage {
		body["usage"] = bedrockUsage(s.Turn)
	}
	if s.Fault == UnknownEvent {
		body["sparkle"] = map[string]any{"bright": true}
	}
	raw := core.Encode(body)
	w.Header().Set("Content-Type", "application/json")
	switch s.Fault {
	case Cut:
		raw = raw[:len(raw)/2]
	case Garbled:
		raw = append(raw[:len(raw)/2:len(raw)/2], "]]"...)
	case Aborted, HalfFrame:
		_, _ = w.Write(raw[:len(raw)/2])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(raw)
}

func bedrockWholeBlocks(s Said) []any {
	blocks := []any{}
	for _, p := range bedrockBlocks(s) {
		switch p.Type {
		case core.PartCall:
			c := p.call
			blocks = append(blocks, map[string]any{"toolUse": map[string]any{"toolUseId": c.ID, "name": c.Name, "input": bedrockInput(c.Arguments)}})
		case core.PartReasoning:
			blocks = append(blocks, map[string]any{"reasoningContent": bedrockReasoning(p.Part)})
		default:
			blocks = append(blocks, map[string]any{"text": p.Text})
		}
	}
	if s.Fault == UnknownEvent {
		blocks = append(blocks, map[string]any{"sparkle": map[string]any{"bright": true}})
	}
	return blocks
}

// bedrockInput is a call's input where it must be JSON; what is none goes as text.
func bedrockInput(raw json.RawMessage) any {
	if json.Valid(raw) {
		return raw
	}
	return string(raw)
}

func bedrockReasoning(p core.Part) map[string]any {
	if p.Text == "" && len(p.Sealed) > 0 {
		return map[string]any{"redactedContent": bedrockSealed(p.Sealed)}
	}
	return map[string]any{"reasoningText": map[string]any{"text": p.Text, "signature": bedrockSignature(p.Text)}}
}

// bedrockUsage counts, as Bedrock does, among input tokens those only that no cache had a part in.
func bedrockUsage(t core.Turn) map[string]int64 {
	fresh := t.InputTokens - t.CacheRead - t.CacheWritten
	return map[string]int64{"inputTokens": fresh, "outputTokens": t.OutputTokens, "totalTokens": t.InputTokens + t.OutputTokens,
		"cacheReadInputTokens": t.CacheRead, "cacheWriteInputTokens": t.CacheWritten}
}

// bedrockBlock is a part of what is said, and the call whose place it is.
type bedrockBlock struct {
	core.Part
	call core.ToolCall
}

// bedrockBlocks are what is said, the calls' places among it. Of calls with one id the first place
// is the first's.
func bedrockBlocks(s Said) (blocks []bedrockBlock) {
	m := core.Message{Parts: s.Turn.Content, Calls: s.Turn.Calls}
	if m.Parts == nil {
		m.Parts = core.TextParts(s.Turn.Text)
	}
	calls := slices.Clone(m.Calls)
	for _, p := range m.Blocks() {
		b := bedrockBlock{Part: p}
		if i := slices.IndexFunc(calls, func(c core.ToolCall) bool { return c.ID == p.Call }); p.Type == core.PartCall && i >= 0 {
			b.call = calls[i]
			calls = slices.Delete(calls, i, i+1)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// bedrockStop is Bedrock's word for why the model stopped.
func bedrockStop(s Said) string {
	switch {
	case s.Stop != "":
		return s.Stop
	case s.Turn.End != nil:
		return s.Turn.End.Code
	case len(s.Turn.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}
