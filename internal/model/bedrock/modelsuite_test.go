package bedrock_test

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/bedrock"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
	"github.com/dormouse-dev/dormouse/internal/proof/modeltest"
)

func TestModelSuite(t *testing.T) {
	modeltest.Suite(t, modeltest.Provider{
		Double: modeldouble.Bedrock,
		New: func(t testing.TB, s modeltest.Surroundings) engine.Model {
			client := bedrockruntime.New(bedrockruntime.Options{Region: "eu-central-1", BaseEndpoint: aws.String("http://bedrock.test"),
				HTTPClient: &http.Client{Transport: s.Transport}, Credentials: credentials.NewStaticCredentialsProvider("AKIDPLANTED", modeltest.Secret, modeltest.Secret)})
			m, err := bedrock.New(client, bedrock.Options{Model: agent.Model{ID: modelID, Whole: s.Whole}, Clock: s.Clock, Random: s.Random, Logger: s.Logger})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		Reasoning: core.Part{Type: core.PartReasoning},
		Stops: map[string]string{"end_turn": "", "stop_sequence": "", "tool_use": "", "max_tokens": "max_tokens", "guardrail_intervened": "guardrail_intervened",
			"content_filtered": "content_filtered", "model_context_window_exceeded": "model_context_window_exceeded", "malformed_model_output": modeltest.TryLater,
			"malformed_tool_use": modeltest.TryLater},
		Whole: messageStopEnd,
	})
}

// messageStopEnd is where the frame ends that says why the model stopped.
func messageStopEnd(answer []byte) int {
	for at := 0; at+4 <= len(answer); {
		end := at + int(binary.BigEndian.Uint32(answer[at:]))
		if end > len(answer) || end == at {
			return 0
		}
		if bytes.Contains(answer[at:end], []byte("messageStop")) {
			return end
		}
		at = end
	}
	return 0
}
