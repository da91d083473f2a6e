package stackdoctor

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

// Agents reads deployed agents.
type Agents interface {
	// Deployed are the deployed versions of all tenants' agents. Those that this program can't
	// read are counted, and so are all tenants together that it can't.
	Deployed(ctx context.Context) (read []agent.Definition, unread int, err error)
}

// Models asks Bedrock about models.
type Models interface {
	Access(ctx context.Context, region, model string) (Access, error)
	// Try asks a model for one token, with the caller's credentials.
	Try(ctx context.Context, region, model string) error
}

// Access is what Bedrock says of an account's access to a model.
type Access struct {
	Model      string // the foundation model that Bedrock was asked about
	InRegion   bool
	Authorized bool
	Entitled   bool
	Agreed     bool     // there is an agreement with the model's provider
	Regions    []string // to which an inference profile may send prompts; "" is any region
	NoModel    bool     // Bedrock can't tell for this kind of id
}

// usedModel is a model of Bedrock in a region, and the agents that use it.
type usedModel struct{ region, id string }

func checkModels(ctx context.Context, agents Agents, from Models, s Stack, region string, try bool) []Finding {
	r := results{check: "models"}
	deployed, unread, err := agents.Deployed(ctx)
	if err != nil {
		r.unread("models of deployed agents", err)
		return r.found
	}
	if unread > 0 {
		r.warn("check them with the newer version, if one wrote them", "%s that this version can't read: not checked", counted(unread, "agent"))
	}
	used, others := map[usedModel][]string{}, map[string]bool{}
	for _, d := range deployed {
		if d.Model.Provider == agent.ProviderBedrock {
			m := usedModel{cmp.Or(d.Model.Region, region), d.Model.ID}
			used[m] = append(used[m], d.Name)
		} else {
			others[d.Model.Provider] = true
		}
	}
	if len(used) == 0 {
		r.ok("no deployed agent (%d) uses Bedrock", len(deployed))
	}
	for _, m := range slices.SortedFunc(maps.Keys(used), func(a, b usedModel) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.region, b.region)) }) {
		r.model(ctx, from, m, used[m], s.Parameters, try)
	}
	delete(others, agent.ProviderScripted)
	delete(others, agent.ProviderRecorded)
	if len(others) > 0 {
		r.ok("not checked: models of the providers %s, which are outside of AWS", strings.Join(slices.Sorted(maps.Keys(others)), ", "))
	}
	return r.found
}

func (r *results) model(ctx context.Context, from Models, m usedModel, agents []string, parameters map[string]string, try bool) {
	slices.Sort(agents)
	who := m.id + " in " + m.region + " (" + strings.Join(slices.Compact(agents), ", ") + ")"
	if allowed, known := parameters["BedrockModels"]; known && !covers(allowed, m) {
		r.fail("add its ARN to BedrockModels and deploy again", "%s: BedrockModels does not allow it, so StepFunction can't use it", who)
	}
	a, err := from.Access(ctx, m.region, m.id)
	switch {
	case errors.Is(err, ErrMissing):
		r.fail("correct the model or the region in the agent file", "%s: Bedrock does not know it there", who)
	case err != nil:
		r.unread(who, err)
	case a.NoModel:
		r.ok("%s: access not checked, because Bedrock reports none for this kind of id", who)
	default:
		r.access(a, who, m.region)
		r.allowed(a, who, parameters)
	}
	if !try {
		return
	}
	if err := from.Try(ctx, m.region, m.id); err != nil {
		r.unreadOrFailed(who, err)
		return
	}
	r.ok("%s: answered your credentials; StepFunction's role was not tried", who)
}

// allowed says whether a role that may use an inference profile may also use its models.
func (r *results) allowed(a Access, who string, parameters map[string]string) {
	models, known := parameters["BedrockModels"]
	var lacking []string
	for _, region := range a.Regions {
		if known && !covers(models, usedModel{region, a.Model}) {
			lacking = append(lacking, cmp.Or(region, "no region (arn:aws:bedrock:::foundation-model/"+a.Model+")"))
		}
	}
	if len(lacking) > 0 {
		r.fail("add the ARNs of the model in these regions to BedrockModels and deploy again", "%s: BedrockModels does not allow the profile's model %s in %s", who, a.Model, strings.Join(lacking, ", "))
	}
}

func (r *results) access(a Access, who, region string) {
	unasked := ""
	if others := slices.DeleteFunc(slices.Clone(a.Regions), func(r string) bool { return r == region || r == "" }); len(others) > 0 {
		unasked = "; not checked: access in " + strings.Join(others, ", ") + ", to which the profile may send prompts"
	}
	switch {
	case !a.InRegion:
		r.fail("use a model that the region has, or set region in the agent file", "%s: %s is not available in the region", who, a.Model)
	case !a.Authorized:
		r.fail("ask the administrators of the account or organization to permit the model", "%s: the account is not authorized to use %s", who, a.Model)
	case !a.Entitled:
		r.fail("request access to the model in Bedrock's console", "%s: the account has no access to %s", who, a.Model)
	case !a.Agreed:
		r.warn("accept the agreement in Bedrock's console, or ask the model once as an administrator", "%s: there is no agreement with the provider of %s yet%s", who, a.Model, unasked)
	default:
		r.ok("%s: the account has access%s", who, unasked)
	}
}

func (r *results) unreadOrFailed(who string, err error) {
	if _, is := errors.AsType[*Denied](err); is {
		r.unread(who+": attempt", err)
		return
	}
	r.fail("read the error; throttling passes, a missing access does not", "%s: the attempt failed: %v", who, err)
}

// covers says whether the ARNs of BedrockModels, in which * is any text, include a model. For an
// inference profile it looks for the profile's ARN only.
func covers(allowed string, m usedModel) bool {
	for arn := range strings.SplitSeq(allowed, ",") {
		if strings.HasPrefix(m.id, "arn:") {
			if like(strings.TrimSpace(arn), m.id) {
				return true
			}
			continue
		}
		// arn:PARTITION:bedrock:REGION:ACCOUNT:KIND/ID
		parts := strings.SplitN(strings.TrimSpace(arn), ":", 6)
		if len(parts) < 6 {
			if strings.HasSuffix(arn, "*") {
				return true
			}
			continue
		}
		kind, id, _ := strings.Cut(parts[5], "/")
		if like(parts[3], m.region) && (like(id, m.id) || id == "" && kind == "*") {
			return true
		}
	}
	return false
}

// like says whether text matches a pattern of IAM.
func like(pattern, text string) bool {
	// no model's id has a slash, which path.Match would not let * match
	escaped := strings.NewReplacer("[", `\[`, "]", `\]`, "/", ":").Replace(pattern)
	matches, err := path.Match(escaped, strings.ReplaceAll(text, "/", ":"))
	return err == nil && matches
}
