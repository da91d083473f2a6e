// Package stack is what every function of a deployed stack has: its settings, read once from the
// environment, and the clients of the table and the queues made of them. It knows nothing of
// agents, models and tools, so that a function that needs none of them links none; package awsenv
// adds those.
//
// Nothing is looked up over the network: no profile, no role to assume, no metadata service.
// Credentials are those that the platform puts into the environment.
package stack

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/access"
)

// Settings are what the environment says. Members that the function has no use for may be empty.
type Settings struct {
	Table     string
	WakeQueue string // URL
	Intake    Intake
	Access    Access

	Stack    string // the stack's name, the dimension of its metrics
	Version  string // of the program
	Function string // the function's name

	Region      string
	Credentials Credentials
	Endpoints   Endpoints

	TraceDaemon string // address of the tracing daemon; empty where tracing is off
	LogLevel    slog.Level

	// SecretsPath is where the Parameter Store has the secrets that the environment does not,
	// with a slash at its end; empty: nowhere.
	SecretsPath string

	// what HTTP tools that say allow_private may reach beside public addresses
	PrivateHosts []string
}

// Intake is the queue through which pipelines start runs.
type Intake struct {
	URL, ARN, DeadURL string

	Tenant string // whose the queue is
	Agent  string // the agent that events of other services start; empty: none
}

// Access is how the HTTP functions let callers in.
type Access struct {
	Auth                    string // [JWT] or [IAM]; empty in functions that have no callers
	TenantClaim, RolesClaim string // of [JWT]
	Tenant                  string // of [IAM]
	IAMRoles                access.IAMRoles
	Names                   Names
	StreamURL               string // where events are streamed from; empty: nowhere
	Stream                  bool   // this function streams
	Origins                 []string
}

// Names are shown on the pages of approval links: the product, and tenants by their ids.
type Names struct {
	Product string
	Tenants map[string]string
}

// Who asks is told to the functions by API Gateway's authorizer, of one of two sorts.
const (
	JWT = "JWT"
	IAM = "IAM"
)

// Credentials are those of the function's role.
type Credentials struct{ KeyID, Secret, Session string }

// Endpoints replace the services' own, where they are set.
type Endpoints struct{ All, DynamoDB, SQS, Bedrock, Lambda, SSM string }

// Read reads the settings. The error names every variable that is missing or wrong, with what to
// write.
func Read(getenv func(string) string) (Settings, error) {
	r := &reader{getenv: getenv}
	s := Settings{
		Table:     r.need("DORMOUSE_TABLE", "the name of the stack's table"),
		WakeQueue: r.needURL("DORMOUSE_WAKE_QUEUE_URL", "the URL of the stack's queue of wake-ups"),
		Stack:     r.or("DORMOUSE_STACK", "dormouse"),
		Version:   r.or("DORMOUSE_VERSION", "devel"),
		Function:  r.or("AWS_LAMBDA_FUNCTION_NAME", "dormouse"),
		Region:    r.need("AWS_REGION", "the region of the stack, such as eu-central-1"),
		Credentials: Credentials{
			KeyID:   r.need("AWS_ACCESS_KEY_ID", "the id of an access key; on Lambda the platform sets it"),
			Secret:  r.need("AWS_SECRET_ACCESS_KEY", "the secret of that access key; on Lambda the platform sets it"),
			Session: getenv("AWS_SESSION_TOKEN"),
		},
		Endpoints: Endpoints{All: r.url("AWS_ENDPOINT_URL"), DynamoDB: r.url("AWS_ENDPOINT_URL_DYNAMODB"), SQS: r.url("AWS_ENDPOINT_URL_SQS"),
			Bedrock: r.url("AWS_ENDPOINT_URL_BEDROCK_RUNTIME"), Lambda: r.url("AWS_ENDPOINT_URL_LAMBDA"), SSM: r.url("AWS_ENDPOINT_URL_SSM")},
		SecretsPath:  r.path("DORMOUSE_SECRETS_PATH"),
		TraceDaemon:  getenv("AWS_XRAY_DAEMON_ADDRESS"),
		LogLevel:     level(getenv("AWS_LAMBDA_LOG_LEVEL")),
		PrivateHosts: list(getenv("DORMOUSE_PRIVATE_HOSTS")),
	}
	s.Intake, s.Access = r.intake(), r.access()
	return s, errors.Join(r.wrong...)
}

// reader collects what is wrong.
type reader struct {
	getenv func(string) string
	wrong  []error
}

func (r *reader) say(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Errorf(format, args...))
}

func (r *reader) need(name, what string) string {
	v := r.getenv(name)
	if v == "" {
		r.say("%s is missing; set it to %s", name, what)
	}
	return v
}

func (r *reader) or(name, otherwise string) string {
	if v := r.getenv(name); v != "" {
		return v
	}
	return otherwise
}

func (r *reader) needURL(name, what string) string {
	if r.need(name, what) == "" {
		return ""
	}
	return r.url(name)
}

func (r *reader) url(name string) string {
	v := r.getenv(name)
	if v == "" {
		return ""
	}
	if u, err := url.Parse(v); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		r.say("%s is %q, which is no URL; write it as https://HOST/PATH", name, v)
	}
	return v
}

// path is that of parameters. All of an account's are under "/", which nobody means.
func (r *reader) path(name string) string {
	v := r.getenv(name)
	if v == "" {
		return ""
	}
	v = strings.TrimSuffix(v, "/") + "/"
	if !strings.HasPrefix(v, "/") || v == "/" || strings.Contains(v, "//") {
		r.say("%s is %q, which is no path of parameters; write it as /NAME/NAME/", name, r.getenv(name))
	}
	return v
}

// intake is all there or not at all: only the function that takes the queue has it. Which agent
// events start may be left open.
func (r *reader) intake() Intake {
	if r.getenv("DORMOUSE_INTAKE_QUEUE_ARN") == "" {
		return Intake{URL: r.url("DORMOUSE_INTAKE_QUEUE_URL")}
	}
	return Intake{
		ARN:     r.arn("DORMOUSE_INTAKE_QUEUE_ARN"),
		URL:     r.needURL("DORMOUSE_INTAKE_QUEUE_URL", "the URL of the intake queue"),
		DeadURL: r.needURL("DORMOUSE_INTAKE_DEAD_QUEUE_URL", "the URL of the queue for messages of the intake queue that can never be started"),
		Tenant:  r.need("DORMOUSE_INTAKE_TENANT", "the tenant whose runs the intake queue starts"),
		Agent:   r.getenv("DORMOUSE_INTAKE_AGENT"),
	}
}

func (r *reader) arn(name string) string {
	v := r.getenv(name)
	if strings.Count(v, ":") != 5 || !strings.HasPrefix(v, "arn:") {
		r.say("%s is %q, which is no ARN of a queue; write it as arn:aws:sqs:REGION:ACCOUNT:NAME", name, v)
	}
	return v
}

func (r *reader) access() Access {
	a := Access{Auth: r.getenv("DORMOUSE_AUTH"), StreamURL: r.url("DORMOUSE_STREAM_URL"), Stream: r.flag("DORMOUSE_STREAM"),
		Origins: list(r.getenv("DORMOUSE_ORIGINS")), Names: r.names()}
	switch a.Auth {
	case "":
	case JWT:
		a.TenantClaim = r.need("DORMOUSE_TENANT_CLAIM", "the claim of the token that names the caller's tenant")
		a.RolesClaim = r.need("DORMOUSE_ROLES_CLAIM", "the claim of the token that lists the caller's roles")
	case IAM:
		a.Tenant = r.need("DORMOUSE_TENANT", "the tenant of everybody whom IAM lets in")
		var err error
		if a.IAMRoles, err = access.ParseIAMRoles(r.getenv("DORMOUSE_IAM_ROLES")); err != nil {
			r.say("DORMOUSE_IAM_ROLES: %v", err)
		}
	default:
		r.say("DORMOUSE_AUTH is %q; write %s or %s", a.Auth, JWT, IAM)
	}
	return a
}

// names are what the pages of approval links call the product and the tenants.
func (r *reader) names() Names {
	n := Names{Product: r.getenv("DORMOUSE_PRODUCT_NAME")}
	for item := range strings.SplitSeq(r.getenv("DORMOUSE_TENANT_NAMES"), ";") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		tenant, name, err := access.ParseTenantName(item)
		if err != nil {
			r.say("DORMOUSE_TENANT_NAMES: %v", err)
		}
		if n.Tenants == nil {
			n.Tenants = map[string]string{}
		}
		n.Tenants[tenant] = name
	}
	return n
}

func (r *reader) flag(name string) bool {
	v := r.getenv(name)
	if v != "" && v != "0" && v != "1" {
		r.say("%s is %q; write 1 or leave it out", name, v)
	}
	return v == "1"
}

// list reads what is written with commas between.
func list(text string) (items []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
