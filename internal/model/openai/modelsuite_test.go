package openai_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/openai"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
	"github.com/dormouse-dev/dormouse/internal/proof/modeltest"
)

func TestModelSuite(t *testing.T) {
	modeltest.Suite(t, modeltest.Provider{
		Double: modeldouble.OpenAIQuirks{Key: modeltest.Secret}.Handler,
		New: func(t testing.TB, s modeltest.Surroundings) engine.Model {
			m, err := openai.New(openai.Options{Model: agent.Model{ID: "small", BaseURL: "http://localhost:11434/v1", APIKey: modeltest.SecretName,
				Headers: map[string]string{"X-Key": "{secret:" + modeltest.SecretName + "}"}, Whole: s.Whole},
				HTTP: &http.Client{Transport: s.Transport}, Secrets: source(map[string]string{modeltest.SecretName: modeltest.Secret}), Clock: s.Clock, Random: s.Random,
				Logger: s.Logger})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		Reasoning: core.Part{Type: core.PartReasoning, Provider: openai.Provider},
		Stops: map[string]string{"stop": "", "tool_calls": "", "length": "max_tokens", "content_filter": "content_filtered", "error": modeltest.TryLater,
			"Something Else": "unknown_stop_reason"},
		Whole: func(answer []byte) int {
			at := bytes.Index(answer, []byte(`"finish_reason":"`))
			return at + bytes.IndexByte(answer[at:], '\n')
		},
	})
}
