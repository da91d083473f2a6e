package modeldouble

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// OpenAI speaks chat completions, streamed and not, under any path that ends in /chat/completions.
// It takes what every endpoint takes, and refuses what some refuse: so what passes here passes with
// OpenAI, and through the templates of models behind Ollama and vLLM as well.
func OpenAI(answer Answer) http.Handler { return OpenAIQuirks{}.Handler(answer) }

// OpenAIQuirks are what endpoints do differently.
type OpenAIQuirks struct {
	Key             string // demanded as Authorization: Bearer KEY
	NoStreamOptions bool   // stream_options is refused with 400
	NoReasoning     bool   // reasoning in a request is refused with 400
	Reasoning       string // the member that reasoning comes in; reasoning_content if empty
	Unstreamed      bool   // the answer comes in one piece though a stream was asked for
	NoDone          bool   // no [DONE] ends the stream
	Tight           bool   // no empty line between events, and no line end behind the last

	// Calls come whole in one delta, and of each is left out what these name: "index", "id";
	// "object" makes the arguments an object in place of a text; "zero" gives every call the
	// index 0.
	Calls []string
}

// Handler speaks so.
func (q OpenAIQuirks) Handler(answer Answer) http.Handler { return openAI{q, answer} }

type openAI struct {
	OpenAIQuirks
	answer Answer
}

// openAIError is an error's body.
type openAIError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    any     `json:"code"`
}

func (e *openAIError) Error() string { return e.Message }

func openAIInvalid(message string) *openAIError {
	return &openAIError{Message: message, Type: "invalid_request_error"}
}

// ServeHTTP implements [http.Handler].
func (o openAI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		panic(http.ErrAbortHandler)
	case r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		writeOpenAIError(w, http.StatusNotFound, &openAIError{Message: "no such route", Type: "invalid_request_error"})
		return
	case o.Key != "" && r.Header.Get("Authorization") != "Bearer "+o.Key:
		writeOpenAIError(w, http.StatusUnauthorized, &openAIError{Message: "Incorrect API key provided: " + r.Header.Get("Authorization"),
			Type: "invalid_request_error",
			Code: "invalid_api_key"})
		return
	}
	asked, refused := o.read(body)
	if refused != nil {
		writeOpenAIError(w, http.StatusBadRequest, refused)
		return
	}
	asked.Path, asked.Header, asked.Body = r.URL.Path, r.Header.Clone(), body
	said := o.answer(asked)
	if o.refuses(w, r, said.Fault) {
		return
	}
	a := openAIAnswer{openAI: o, w: w, said: said, model: asked.Model, usage: openAIAsksUsage(body)}
	if asked.Stream && !o.Unstreamed {
		a.stream()
		return
	}
	a.whole()
}

func writeOpenAIError(w http.ResponseWriter, status int, e *openAIError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(core.Encode(map[string]any{"error": e}))
}

// refuses answers with a status, if that is the fault.
func (o openAI) refuses(w http.ResponseWriter, r *http.Request, f Fault) bool {
	switch f {
	case Throttled:
		writeOpenAIError(w, http.StatusTooManyRequests, &openAIError{Message: "Rate limit reached", Type: "requests", Code: "rate_limit_exceeded"})
	case NotReady:
		writeOpenAIError(w, http.StatusServiceUnavailable, &openAIError{Message: "The model is being loaded", Type: "server_error"})
	case TimedOut:
		writeOpenAIError(w, http.StatusGatewayTimeout, &openAIError{Message: "The model did not answer in time", Type: "server_error"})
	case ServerError:
		writeOpenAIError(w, http.StatusInternalServerError, &openAIError{Message: "The server had an error", Type: "server_error"})
	case Refused:
		writeOpenAIError(w, http.StatusBadRequest, openAIInvalid("'tools[0].function.parameters' is wrong"))
	case Forbidden:
		text := "not allowed for"
		for name, values := range r.Header {
			text += " " + name + "=" + strings.Join(values, ",")
		}
		writeOpenAIError(w, http.StatusForbidden, openAIInvalid(text))
	case NotFound:
		writeOpenAIError(w, http.StatusNotFound, &openAIError{Message: "The model does not exist", Type: "invalid_request_error", Code: "model_not_found"})
	case Unreachable:
		panic(http.ErrAbortHandler)
	default:
		return false
	}
	return true
}

func openAIAsksUsage(body []byte) bool {
	var asks struct {
		Stream  bool `json:"stream"`
		Options struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	return json.Unmarshal(body, &asks) == nil && (!asks.Stream || asks.Options.Usage)
}

// openAIFinish is why the model stopped.
func openAIFinish(s Said) string {
	if len(s.Turn.Calls) > 0 {
		return cmp.Or(s.Stop, "tool_calls")
	}
	return cmp.Or(s.Stop, "stop")
}
