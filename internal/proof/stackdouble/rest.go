package stackdouble

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
)

// rest answers Lambda and Bedrock, by the segments of the path.
func (d *Double) rest(w http.ResponseWriter, r *http.Request) {
	var parts []string
	for part := range strings.SplitSeq(strings.Trim(r.URL.EscapedPath(), "/"), "/") {
		plain, err := url.PathUnescape(part)
		if err != nil {
			plain = part
		}
		parts = append(parts, plain)
	}
	parts = append(parts, "", "", "")
	// what the last segment names, whether there is one or not
	action, answer := "", func() any { return nil }
	switch {
	case parts[1] == "account-settings":
		action, answer = "lambda:GetAccountSettings", func() any {
			return map[string]any{"AccountLimit": map[string]any{"ConcurrentExecutions": d.account.Concurrency, "UnreservedConcurrentExecutions": d.account.Unreserved}}
		}
	case parts[1] == "event-source-mappings":
		action, answer = "lambda:GetEventSourceMapping", func() any { return d.mapping(parts[2]) }
	case parts[1] == "functions" && parts[3] == "concurrency":
		action, answer = "lambda:GetFunctionConcurrency", func() any { return d.concurrency(parts[2]) }
	case parts[1] == "functions" && parts[3] == "configuration":
		action, answer = "lambda:GetFunctionConfiguration", func() any { return d.function(parts[2], r.URL.Query().Get("Qualifier")) }
	case parts[1] == "functions" && parts[3] == "aliases":
		action, answer = "lambda:GetAlias", func() any { return d.alias(parts[2]) }
	case parts[0] == "foundation-model-availability":
		action, answer = "bedrock:GetFoundationModelAvailability", func() any { return d.model(parts[1]) }
	case parts[0] == "inference-profiles":
		action, answer = "bedrock:GetInferenceProfile", func() any { return d.profile(parts[1]) }
	case parts[0] == "model" && parts[2] == "converse":
		action, answer = "bedrock:InvokeModel", func() any { return d.converse(parts[1]) }
	default:
		d.unknown = append(d.unknown, r.Method+" "+r.URL.Path)
	}
	if d.account.Denied[action] {
		refuseJSON(w, "AccessDeniedException")
		return
	}
	found := answer()
	if found == nil {
		refuseJSON(w, "ResourceNotFoundException")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, found)
}

func (d *Double) mapping(id string) any {
	m, is := d.account.Mappings[id]
	if !is {
		return nil
	}
	return map[string]any{"UUID": id, "State": m.State, "LastProcessingResult": "OK", "ScalingConfig": map[string]any{"MaximumConcurrency": m.AtMost}}
}

func (d *Double) concurrency(name string) any {
	f, is := d.account.Functions[name]
	switch {
	case !is:
		return nil
	case f.Reserved > 0 || f.Stopped:
		return map[string]any{"ReservedConcurrentExecutions": f.Reserved}
	}
	return map[string]any{}
}

func (d *Double) function(name, qualifier string) any {
	f, is := d.account.Functions[name]
	v := f.Newest
	if qualifier == "live" && f.Live != nil {
		v = *f.Live
	}
	if !is || qualifier == "live" && f.Live == nil {
		return nil
	}
	return map[string]any{"FunctionName": name, "CodeSha256": v.Code, "State": "Active", "LastUpdateStatus": "Successful", "Environment": map[string]any{"Variables": v.Environment}}
}

func (d *Double) alias(name string) any {
	f, is := d.account.Functions[name]
	if !is || f.Live == nil {
		return nil
	}
	return map[string]any{"Name": "live", "FunctionVersion": f.Number}
}

func (d *Double) model(id string) any {
	m, is := d.account.Models[id]
	if !is {
		return nil
	}
	available := func(is bool) string { return map[bool]string{true: "AVAILABLE", false: "NOT_AVAILABLE"}[is] }
	return map[string]any{"modelId": id, "agreementAvailability": map[string]string{"status": available(m.Agreed)}, "entitlementAvailability": available(m.Entitled),
		"regionAvailability": available(m.InRegion), "authorizationStatus": map[bool]string{true: "AUTHORIZED", false: "NOT_AUTHORIZED"}[m.Authorized]}
}

func (d *Double) profile(id string) any {
	arns, is := d.account.Profiles[id]
	if !is {
		return nil
	}
	models := []map[string]string{}
	for _, arn := range arns {
		models = append(models, map[string]string{"modelArn": arn})
	}
	return map[string]any{"inferenceProfileId": id, "models": models, "status": "ACTIVE", "type": "SYSTEM_DEFINED"}
}

func (d *Double) converse(id string) any {
	_, is := d.account.Models[id]
	_, profile := d.account.Profiles[id]
	if !cmp.Or(is, profile) {
		return nil
	}
	d.asked = append(d.asked, id)
	return map[string]any{"output": map[string]any{"message": map[string]any{"role": "assistant", "content": []any{map[string]string{"text": "OK"}}}}, "stopReason": "max_tokens",
		"usage": map[string]int{"inputTokens": 4, "outputTokens": 1, "totalTokens": 5}, "metrics": map[string]int{"latencyMs": 1}}
}
