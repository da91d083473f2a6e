// Package stack has the common parts of all functions of a deployed stack: the settings, read once
// from the environment, and the clients of the table and the queues. It knows nothing about agents,
// models and tools, so that a function without them links none; package awsenv adds those.
//
// It looks up nothing over the network: no profile, no role to assume, no metadata service. The
// credentials are those that Lambda puts into the environment.
package stack

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
)

// Settings are the settings in the environment. Fields that a function does not use may be empty.
type Settings struct {
	Table     string
	Shards    int    // partitions of the table's index of due entries
	WakeQueue string // URL of the queue with the wake-ups of runs
	// URL of the queue with the wake-ups of delivery lines
	NotifyQueue string
	Intake      Intake
	Access      Access
	Sinks       Sinks
	SignIn      SignIn
	MailFrom    string // the address that sends notices as mail; empty: mail is off

	Stack    string // the name of the stack, the dimension of its metrics
	Version  string // of the program
	Function string // the function's name
	// Published is the version of the function that Lambda published; empty outside of Lambda
	Published string

	Region      string
	Credentials Credentials
	Endpoints   Endpoints

	// LiveText is the pause between two pieces of live text, while someone watches; 0: there is
	// none
	LiveText time.Duration

	// Rates are what tenants may do; a kind without one has no limit
	Rates map[pace.Kind]pace.Rate

	TraceDaemon string // address of the tracing daemon; empty if tracing is off
	Memory      int    // of the function, in bytes; 0 if Lambda doesn't say it
	LogLevel    slog.Level

	// Public is where people reach the API; the links of notices begin with it
	Public access.PublicURL

	// SecretsPath is the path of the secrets in the Parameter Store that the environment does
	// not have. It ends with a slash; empty means none.
	SecretsPath string

	// PrivateHosts are the addresses that HTTP tools and webhooks with allow_private may reach
	// besides public ones
	PrivateHosts []string
}

// PreTrafficTenant has the runs that test new versions of the step function. No caller can be of
// this tenant, because the names of tenants have no upper-case letters, and its runs notify no one.
const PreTrafficTenant = "Dormouse-pretraffic"

// Intake is the queue through which pipelines start runs.
type Intake struct {
	URL, ARN, DeadURL string

	Tenant string // the tenant of the queue
	Agent  string // the agent for events of other services; empty for none
}

// Access configures how the HTTP functions authenticate callers.
type Access struct {
	Auth                    string // [JWT] or [IAM]; empty in functions without callers
	TenantClaim, RolesClaim string // for [JWT]
	Issuer                  string // for [JWT]: who issues tokens; empty: not said
	Tenant                  string // for [IAM]
	IAMRoles                access.IAMRoles
	Names                   Names
	// for how long people can undo an answer on a page; 0: it is final
	Undo      time.Duration
	StreamURL string // where events are streamed from; empty for none
	Stream    bool   // whether this function serves streams
	Origins   []string
}

// Names are shown on the pages of approval links: the product, and the tenants by their ids.
type Names struct {
	Product string
	Tenants map[string]string
}

// The types of API Gateway authorizers that authenticate callers.
const (
	JWT = "JWT"
	IAM = "IAM"
)

// Credentials are the credentials of the function's role.
type Credentials struct{ KeyID, Secret, Session string }

// Endpoints override those of the services, if they are set.
type Endpoints struct{ All, DynamoDB, SQS, Bedrock, Lambda, SSM, EventBridge, SNS, SES string }

// Read reads the settings. The error names every variable that is missing or invalid, and what to
// set it to.
func Read(getenv func(string) string) (Settings, error) {
	r := &reader{getenv: getenv}
	s := Settings{
		Table:       r.need("DORMOUSE_TABLE", "the name of the stack's table"),
		Shards:      r.shards("DORMOUSE_SHARDS"),
		WakeQueue:   r.needURL("DORMOUSE_WAKE_QUEUE_URL", "the URL of the stack's queue of wake-ups"),
		NotifyQueue: r.needURL("DORMOUSE_NOTIFY_QUEUE_URL", "the URL of the stack's queue of deliveries"),
		Stack:       r.or("DORMOUSE_STACK", "dormouse"),
		Version:     r.or("DORMOUSE_VERSION", "devel"),
		Function:    r.or("AWS_LAMBDA_FUNCTION_NAME", "dormouse"),
		Published:   getenv("AWS_LAMBDA_FUNCTION_VERSION"),
		Region:      r.need("AWS_REGION", "the region of the stack, such as eu-central-1"),
		Credentials: Credentials{
			KeyID:   r.need("AWS_ACCESS_KEY_ID", "the id of an access key; on Lambda the platform sets it"),
			Secret:  r.need("AWS_SECRET_ACCESS_KEY", "the secret of that access key; on Lambda the platform sets it"),
			Session: getenv("AWS_SESSION_TOKEN"),
		},
		Endpoints: Endpoints{All: r.url("AWS_ENDPOINT_URL"), DynamoDB: r.url("AWS_ENDPOINT_URL_DYNAMODB"), SQS: r.url("AWS_ENDPOINT_URL_SQS"),
			Bedrock: r.url("AWS_ENDPOINT_URL_BEDROCK_RUNTIME"), Lambda: r.url("AWS_ENDPOINT_URL_LAMBDA"), SSM: r.url("AWS_ENDPOINT_URL_SSM"),
			EventBridge: r.url("AWS_ENDPOINT_URL_EVENTBRIDGE"), SNS: r.url("AWS_ENDPOINT_URL_SNS"), SES: r.url("AWS_ENDPOINT_URL_SESV2")},
		MailFrom:     r.address("DORMOUSE_NOTICE_MAIL_FROM"),
		SecretsPath:  r.path("DORMOUSE_SECRETS_PATH"),
		LiveText:     r.pause("DORMOUSE_LIVE_TEXT"),
		TraceDaemon:  getenv("AWS_XRAY_DAEMON_ADDRESS"),
		Memory:       megabytes(getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")),
		LogLevel:     level(getenv("AWS_LAMBDA_LOG_LEVEL")),
		PrivateHosts: list(getenv("DORMOUSE_PRIVATE_HOSTS")),
	}
	s.Intake, s.Access, s.Sinks, s.Public = r.intake(), r.access(), r.sinks(), r.public()
	s.SignIn, s.Rates = r.signIn(s.Public), r.rates("DORMOUSE_RATES", s.Access.Auth == JWT)
	return s, errors.Join(r.wrong...)
}

func megabytes(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0 // outside Lambda
	}
	return n << 20
}

// usualShards are those of a stack that names no other number. The sweep reads mostShards in any
// case: it sees what was written when the number was another, or is again after a rollback.
const (
	usualShards = 16
	mostShards  = 64
)

// shards reads a number of partitions that the sweep can read.
func (r *reader) shards(name string) int {
	v := r.getenv(name)
	if v == "" {
		return usualShards
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > mostShards {
		r.say("%s is %q; set it to a number from 1 to %d", name, v, mostShards)
	}
	return n
}

// reader collects the errors.
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
		r.say("%s is %q, which is not a URL; use the form https://HOST/PATH", name, v)
	}
	return v
}

// address reads the address of a mail, without a name.
func (r *reader) address(name string) string {
	v := r.getenv(name)
	if local, domain, _ := strings.Cut(v, "@"); v != "" && (local == "" || domain == "" || strings.ContainsAny(domain, "@") || strings.ContainsAny(v, " \t\r\n<>,;\"")) {
		r.say("%s is %q, which is not a mail address; use the form desk@example.com", name, v)
	}
	return v
}

// pause reads a short duration, or Off.
func (r *reader) pause(name string) time.Duration {
	v := r.getenv(name)
	if v == "" || v == "Off" {
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 100*time.Millisecond || d > 5*time.Second {
		r.say("%s is %q; set it to Off, or to a duration from 100ms to 5s", name, v)
	}
	return d
}

// mostHold is for how many seconds a decision may be held.
const mostHold = 60

// hold reads for how long a decision is held; 0 if the variable is empty.
func (r *reader) hold(name string) time.Duration {
	v := r.getenv(name)
	if v == "" {
		return 0
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > mostHold {
		r.say("%s is %q; set it to a number of seconds from 0 to %d", name, v, mostHold)
	}
	return time.Duration(n) * time.Second
}

// path reads a path of parameters. It refuses "/", which would contain all parameters of the
// account.
func (r *reader) path(name string) string {
	v := r.getenv(name)
	if v == "" {
		return ""
	}
	v = strings.TrimSuffix(v, "/") + "/"
	if !strings.HasPrefix(v, "/") || v == "/" || strings.Contains(v, "//") {
		r.say("%s is %q, which does not name parameters; use the form /NAME/NAME/", name, r.getenv(name))
	}
	return v
}

// intake reads the settings of the intake queue, all of them or none: only the function that
// handles the queue has them. The agent for events is optional.
func (r *reader) intake() Intake {
	if r.getenv("DORMOUSE_INTAKE_QUEUE_ARN") == "" {
		return Intake{URL: r.url("DORMOUSE_INTAKE_QUEUE_URL")}
	}
	return Intake{
		ARN:     r.arn("DORMOUSE_INTAKE_QUEUE_ARN", "queue", "arn:aws:sqs:REGION:ACCOUNT:NAME"),
		URL:     r.needURL("DORMOUSE_INTAKE_QUEUE_URL", "the URL of the intake queue"),
		DeadURL: r.needURL("DORMOUSE_INTAKE_DEAD_QUEUE_URL", "the URL of the queue for messages of the intake queue that can never be started"),
		Tenant:  r.need("DORMOUSE_INTAKE_TENANT", "the tenant whose runs the intake queue starts"),
		Agent:   r.getenv("DORMOUSE_INTAKE_AGENT"),
	}
}

func (r *reader) arn(name, what, form string) string {
	v := r.getenv(name)
	if strings.Count(v, ":") != 5 || !strings.HasPrefix(v, "arn:") {
		r.say("%s is %q, which is not the ARN of a %s; use the form %s", name, v, what, form)
	}
	return v
}

func (r *reader) access() Access {
	a := Access{Auth: r.getenv("DORMOUSE_AUTH"), StreamURL: r.url("DORMOUSE_STREAM_URL"), Stream: r.flag("DORMOUSE_STREAM"),
		Origins: list(r.getenv("DORMOUSE_ORIGINS")), Names: r.names(), Undo: r.hold("DORMOUSE_UNDO_SECONDS")}
	switch a.Auth {
	case "":
	case JWT:
		a.TenantClaim = r.need("DORMOUSE_TENANT_CLAIM", "the claim of the token that names the caller's tenant")
		a.RolesClaim = r.need("DORMOUSE_ROLES_CLAIM", "the claim of the token that lists the caller's roles")
		a.Issuer = r.url("DORMOUSE_JWT_ISSUER")
	case IAM:
		a.Tenant = r.need("DORMOUSE_TENANT", "the tenant of all callers that IAM admits")
		var err error
		if a.IAMRoles, err = access.ParseIAMRoles(r.getenv("DORMOUSE_IAM_ROLES")); err != nil {
			r.say("DORMOUSE_IAM_ROLES: %v", err)
		}
	default:
		r.say("DORMOUSE_AUTH is %q; set it to %s or %s", a.Auth, JWT, IAM)
	}
	return a
}

// names reads the names of the product and the tenants on the pages of approval links.
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

func (r *reader) public() access.PublicURL {
	u, err := access.ParsePublicURL(r.getenv("DORMOUSE_PUBLIC_URL"))
	if err != nil {
		r.say("DORMOUSE_PUBLIC_URL: %v", err)
	}
	return u
}

func (r *reader) flag(name string) bool {
	v := r.getenv(name)
	if v != "" && v != "0" && v != "1" {
		r.say("%s is %q; set it to 1 or remove it", name, v)
	}
	return v == "1"
}

// list splits a text at its commas.
func list(text string) (items []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
