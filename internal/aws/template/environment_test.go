package template

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
)

var environmentChecks = []check{
	{"each function has the variables that it needs, and no others", variableWrongs, []breakage{
		{"          DORMOUSE_STREAM: \"1\"\n", ""},
		{"DORMOUSE_INTAKE_AGENT", "DORMOUSE_INTAKE_AGENTS"},
		{"        DORMOUSE_TABLE: !If [MakesTable, !Ref Table, !Ref ExistingTable]\n", ""},
		{"          DORMOUSE_STREAM: \"1\"\n", "          DORMOUSE_STREAM: \"1\"\n          DORMOUSE_POLICY: !Ref Policy\n"}}},
	{"the program reads every variable that is set, and every one that it reads is set somewhere", readWrongs, []breakage{
		{"          DORMOUSE_ORIGINS: !Join [\",\", !Ref Origins]\n", ""}, {"          DORMOUSE_RATES:", "          DORMOUSE_PACES:"},
		{"DORMOUSE_ORIGINS", "DORMOUSE_SITES"}}},
	{"the program derives from its function's memory what it may fill of it", func(t Template) (wrong []string) {
		for _, f := range t.Functions() {
			if f.Get("Environment", "Variables", "GOMEMLIMIT") != nil {
				wrong = append(wrong, f.ID+" sets GOMEMLIMIT, which fits one size of its memory only; package lambdastep sets the limit")
			}
		}
		return wrong
	}, []breakage{{"          GOGC: \"400\"\n", "          GOGC: \"400\"\n          GOMEMLIMIT: 400MiB\n"}}},
	{"the program can be started with what is set", startWrongs, []breakage{
		{"DORMOUSE_INTAKE_QUEUE_ARN: !GetAtt IntakeQueue.Arn", "DORMOUSE_INTAKE_QUEUE_ARN: !Ref IntakeQueue"},
		{"DORMOUSE_WAKE_QUEUE_URL: !Ref WakeQueue", "DORMOUSE_WAKE_QUEUE_URL: !GetAtt WakeQueue.QueueName"},
		{"DORMOUSE_STREAM: \"1\"", "DORMOUSE_STREAM: \"yes\""},
		{"    AllowedValues: [IAM, JWT]", "    AllowedValues: [IAM, JWT, NONE]"}}},
}

// variables are those of each function, beside those of all.
var (
	callers   = []string{"DORMOUSE_AUTH", "DORMOUSE_TENANT_CLAIM", "DORMOUSE_ROLES_CLAIM", "DORMOUSE_TENANT", "DORMOUSE_IAM_ROLES", "DORMOUSE_ORIGINS"}
	variables = map[string][]string{
		"ApiFunction": append([]string{"DORMOUSE_RATES", "DORMOUSE_STREAM_URL", "DORMOUSE_LIVE_TEXT", "DORMOUSE_POLICY", "DORMOUSE_TENANT_DAY_COST", "DORMOUSE_PUBLIC_URL", "DORMOUSE_JWT_ISSUER"}, callers...),
		"DecisionFunction": append([]string{"DORMOUSE_RATES", "DORMOUSE_POLICY", "DORMOUSE_PRODUCT_NAME", "DORMOUSE_TENANT_NAMES", "DORMOUSE_UNDO_SECONDS", "DORMOUSE_PUBLIC_URL", "DORMOUSE_OIDC_ISSUER",
			"DORMOUSE_OIDC_CLIENT_ID", "DORMOUSE_SECRETS_PATH", "DORMOUSE_NOTICE_MAIL_FROM"}, callers...),
		"ConsoleFunction": {"DORMOUSE_RATES", "DORMOUSE_AUTH", "DORMOUSE_TENANT_CLAIM", "DORMOUSE_ROLES_CLAIM", "DORMOUSE_TENANT", "DORMOUSE_STREAM_URL", "DORMOUSE_LIVE_TEXT", "DORMOUSE_POLICY", "DORMOUSE_TENANT_DAY_COST",
			"DORMOUSE_PRODUCT_NAME", "DORMOUSE_TENANT_NAMES", "DORMOUSE_UNDO_SECONDS", "DORMOUSE_PUBLIC_URL", "DORMOUSE_OIDC_ISSUER", "DORMOUSE_OIDC_CLIENT_ID", "DORMOUSE_OIDC_ROLES", "DORMOUSE_SECRETS_PATH"},
		"HookFunction":   {"DORMOUSE_RATES", "DORMOUSE_SECRETS_PATH", "DORMOUSE_POLICY", "DORMOUSE_TENANT_DAY_COST"},
		"StreamFunction": append([]string{"DORMOUSE_STREAM", "DORMOUSE_LIVE_TEXT"}, callers...),
		"IntakeFunction": {"DORMOUSE_INTAKE_QUEUE_URL", "DORMOUSE_INTAKE_QUEUE_ARN", "DORMOUSE_INTAKE_DEAD_QUEUE_URL", "DORMOUSE_INTAKE_TENANT",
			"DORMOUSE_INTAKE_AGENT", "DORMOUSE_POLICY", "DORMOUSE_TENANT_DAY_COST"},
		"StepFunction": {"DORMOUSE_POLICY", "DORMOUSE_PRICES", "DORMOUSE_TENANT_DAY_COST", "DORMOUSE_PRIVATE_HOSTS", "DORMOUSE_SECRETS_PATH", "DORMOUSE_EVENT_BUS",
			"DORMOUSE_NOTICE_TOPIC_ARN", "DORMOUSE_NOTICE_KINDS", "DORMOUSE_PUBLIC_URL", "DORMOUSE_LIVE_TEXT"},
		"NotifyFunction": append([]string{"DORMOUSE_POLICY", "DORMOUSE_PRIVATE_HOSTS", "DORMOUSE_SECRETS_PATH", "DORMOUSE_EVENT_BUS", "DORMOUSE_EVENT_SOURCE", "DORMOUSE_PUBLIC_URL",
			"DORMOUSE_NOTICE_TOPIC_ARN", "DORMOUSE_NOTICE_MAIL_FROM"}, callers...),
		"SweepFunction":      {},
		"PreTrafficFunction": {"DORMOUSE_STEP_VERSION"},
	}
	everywhere = []string{"DORMOUSE_TABLE", "DORMOUSE_WAKE_QUEUE_URL", "DORMOUSE_NOTIFY_QUEUE_URL", "DORMOUSE_STACK", "DORMOUSE_VERSION", "DORMOUSE_SHARDS"}
)

// environment is what a function finds set, unresolved. Secrets of tools are whoever deploys it's
// own.
func (t Template) environment(f Resource) map[string]any {
	all := map[string]any{}
	for _, from := range []any{t.Get("Globals", "Function", "Environment", "Variables"), f.Get("Environment", "Variables")} {
		if some, ok := from.(map[string]any); ok {
			maps.Copy(all, some)
		}
	}
	maps.DeleteFunc(all, func(name string, _ any) bool {
		return !strings.HasPrefix(name, "DORMOUSE_") || strings.HasPrefix(name, "DORMOUSE_SECRET_")
	})
	return all
}

func variableWrongs(t Template) (wrong []string) {
	for _, f := range t.Functions() {
		have := slices.Sorted(maps.Keys(t.environment(f)))
		want := slices.Sorted(slices.Values(slices.Concat(everywhere, variables[f.ID])))
		if !slices.Equal(have, want) {
			wrong = append(wrong, fmt.Sprintf("%s has %v, and needs %v", f.ID, have, want))
		}
	}
	return wrong
}

var variableName = regexp.MustCompile(`"(DORMOUSE_[A-Z_]+[A-Z])"`)

// readByFunctions are the variables that the functions' own code names.
func readByFunctions() (names []string, err error) {
	for _, dir := range []string{"internal/aws/awsenv", "internal/aws/awsstep", "internal/aws/awsapi", "internal/api/lambdahttp", "functions"} {
		err = filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range variableName.FindAllSubmatch(text, -1) {
				names = append(names, string(m[1]))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func readWrongs(t Template) (wrong []string) {
	read, err := readByFunctions()
	if err != nil {
		return []string{err.Error()}
	}
	set := map[string]bool{}
	for _, f := range t.Functions() {
		for name := range t.environment(f) {
			set[name] = true
		}
	}
	for _, name := range read {
		if !set[name] {
			wrong = append(wrong, name+" is read and never set")
		}
		delete(set, name)
	}
	for name := range set {
		wrong = append(wrong, name+" is set and never read")
	}
	return wrong
}

// startWrongs lets the functions' code read the environment, with every allowed value of Auth in
// it, with and without streams.
func startWrongs(t Template) (wrong []string) {
	auth, _ := t.Parameter("Auth")
	for _, f := range t.Functions() {
		for i, kind := range append(auth.AllowedValues, auth.AllowedValues...) {
			streams := "On"
			if i >= len(auth.AllowedValues) {
				streams = "Off"
			}
			env, err := t.sample(f, map[string]string{"Auth": fmt.Sprint(kind), "Streams": streams})
			if err == nil {
				_, err = awsenv.Read(func(name string) string { return env[name] })
			}
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s with Auth=%v: %v", f.ID, kind, err))
			}
		}
	}
	return wrong
}

// sample is the environment that a function would have in some deployment, beside what Lambda sets.
func (t Template) sample(f Resource, parameters map[string]string) (map[string]string, error) {
	r, err := t.Resolver(Deployment{Stack: "name", Region: "eu-central-1", Account: "123456789012", Parameters: parameters})
	if err != nil {
		return nil, err
	}
	env := map[string]string{"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}
	for name, v := range t.environment(f) {
		// SAM adds the resource that has the address.
		if name == "DORMOUSE_STREAM_URL" && parameters["Streams"] != "Off" {
			env[name] = "https://id.lambda-url.eu-central-1.on.aws/"
			continue
		}
		if refOf(v) == "StepFunction.Version" { // as well
			env[name] = "arn:aws:lambda:eu-central-1:123456789012:function:name-StepFunction:7"
			continue
		}
		value, err := r.Resolve(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		env[name] = Text(value)
	}
	return env, nil
}
