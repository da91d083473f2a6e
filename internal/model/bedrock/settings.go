package bedrock

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// settings are those of the definition, unless the request overrides them.
type settings struct {
	id        string
	inference *types.InferenceConfiguration // nil leaves all of it to the model
}

// The supported parameters of one request. Others mean nothing to Bedrock and are ignored.
const (
	parameterModel       = "model"
	parameterTemperature = "temperature"
	parameterTopP        = "top_p"
	parameterMaxTokens   = "max_tokens"
	parameterStop        = "stop_sequences"
)

func (m *Model) settings(parameters map[string]any) (settings, error) {
	s := settings{id: m.o.Model.ID}
	var in types.InferenceConfiguration
	in.StopSequences = m.o.Model.StopSequences
	for name, value := range map[string]any{parameterTemperature: m.o.Model.Temperature, parameterTopP: m.o.Model.TopP,
		parameterMaxTokens: m.o.Model.MaxTokens} {
		if value == json.Number("") || value == int64(0) {
			continue
		}
		if err := s.set(&in, name, value); err != nil {
			return settings{}, err
		}
	}
	for name, value := range parameters {
		if err := s.set(&in, name, value); err != nil {
			return settings{}, err
		}
	}
	if in.MaxTokens != nil || in.Temperature != nil || in.TopP != nil || len(in.StopSequences) > 0 {
		s.inference = &in
	}
	return s, nil
}

func (s *settings) set(in *types.InferenceConfiguration, name string, value any) error {
	var ok bool
	switch name {
	case parameterModel:
		var id string
		if id, ok = value.(string); ok && id != "" {
			s.id = id
		}
	case parameterTemperature:
		in.Temperature, ok = float(value)
	case parameterTopP:
		in.TopP, ok = float(value)
	case parameterMaxTokens:
		in.MaxTokens, ok = count(value)
	case parameterStop:
		in.StopSequences, ok = texts(value)
	default:
		return nil
	}
	if !ok {
		return &engine.ModelError{Detail: fmt.Sprintf("the parameter %q of the request to the model has a value of the wrong type; correct the agent's "+
			"definition, or the hook that sets it", name)}
	}
	return nil
}

// float converts a value that a hook set, as a Go value or as JSON.
func float(value any) (*float32, bool) {
	f, err := strconv.ParseFloat(string(asJSON(value)), 32)
	narrow := float32(f)
	return &narrow, err == nil
}

func count(value any) (*int32, bool) {
	f, err := strconv.ParseFloat(string(asJSON(value)), 64)
	whole := int32(max(math.MinInt32, min(f, math.MaxInt32)))
	return &whole, err == nil && f >= 1 && f == math.Trunc(f)
}

func texts(value any) (list []string, ok bool) {
	err := json.Unmarshal(asJSON(value), &list)
	return list, err == nil
}

// asJSON returns a value as JSON, or nothing if it has no JSON form.
func asJSON(value any) json.RawMessage {
	if raw, err := core.EncodeAny(value); err == nil && !core.IsNull(raw) {
		return raw
	}
	return nil
}
