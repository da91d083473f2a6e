package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/platform"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/servers"
	"github.com/dormouse-dev/dormouse/internal/proof/torture"
)

// sessionToken goes with credentials that do not last. Requests carry and sign it.
const sessionToken = "session"

// signed: the door that the template has if nothing is said, Auth=IAM. Whoever signs with AWS
// credentials is let in, nobody else is; the program starts, lists, decides and follows; a request
// that was signed without it does the same; and a tool of the run reaches a private service. The
// functions and the program are those of the example refund-desk, so the tools of its agent are Go
// functions.
func signed(ctx context.Context, t *Target, b *book) {
	if t.Own == nil {
		b.say("not run: it starts a stack of its own, which it does not where one is deployed already")
		return
	}
	desks, err := openShops()
	if !b.check("a shop listens on this machine, and a stranger", err) {
		return
	}
	defer desks.close()
	p, err := t.Own(ctx, "iam", map[string]string{"Auth": "IAM", "IAMRoles": "arn:aws:iam::" + servers.Account + ":user/proof=start,read,decide", "PrivateHosts": desks.shop.host}, false)
	if !b.check("a second stack, with Auth=IAM, stands on the same servers", err) {
		return
	}
	defer func() {
		b.report.count(p.Lambda.Counts())
		if err := p.Close(); err != nil {
			b.check("it is taken down", err)
		}
	}()
	s := &signedStory{t: t.with(p), b: b, shops: desks}
	s.refused(ctx, t.Token)
	for _, step := range []func(context.Context) bool{s.deployed, s.started, s.listed, s.decided, s.watched, s.once, s.raw, s.reached} {
		if !step(ctx) {
			return
		}
	}
}

// with is the same target for the other stack, of the tenant that the template names. Its program
// is the one that its functions have.
func (t *Target) with(p *platform.Platform) *Target {
	other := *t
	other.Platform, other.API, other.Table, other.Token, other.Tenant, other.CLI = p, p.API, p.Stack.Table.Name, "", "default", t.Desk
	other.DB, other.SQS, other.Queues = p.DB, p.SQS, p.QueueURLs
	return &other
}

type signedStory struct {
	t     *Target
	b     *book
	shops *shops
	run   wire.Run
}

// ask lets the program sign with the credentials of the one caller, or with another secret.
func (s *signedStory) ask(ctx context.Context, secret string, args ...string) (string, error) {
	env := append(s.t.environment(), "DORMOUSE_AWS_REGION="+servers.Region, "DORMOUSE_AWS_IAM=", "AWS_SESSION_TOKEN="+sessionToken)
	if secret != "" {
		env = append(env, "AWS_SECRET_ACCESS_KEY="+secret)
	}
	return s.t.command(ctx, env, args...)
}

func (s *signedStory) refused(ctx context.Context, token string) {
	_, err := s.t.client("").Health(ctx)
	s.b.check("it says without a signature that it is well", err)
	s.b.check("nobody without a signature", s.t.answers(ctx, http.MethodGet, "/v1/runs", "", http.StatusForbidden))
	s.b.check("nobody with a token instead", s.t.answers(ctx, http.MethodGet, "/v1/runs", token, http.StatusForbidden))
	s.b.check("nobody with another secret", s.t.signedAnswers(ctx, byHand{method: http.MethodGet, path: "/v1/runs", secret: "another"}, http.StatusForbidden))
	s.b.check("nobody who signed another body", s.t.signedAnswers(ctx, byHand{method: http.MethodPost, path: "/v1/runs", body: "{}", sent: `{"agent":"desk"}`},
		http.StatusForbidden))
	s.b.check("whoever signed", s.t.signedAnswers(ctx, byHand{method: http.MethodGet, path: "/v1/runs"}, http.StatusOK))
	out, err := s.ask(ctx, "another", "runs", "--aws-iam")
	s.b.check("the program says that another secret was refused", says403(out, err))
	out, err = s.ask(ctx, "", "runs")
	s.b.check("the program does not sign unless it is told to", says403(out, err))
}

func says403(out string, err error) error {
	switch {
	case err == nil:
		return fmt.Errorf("it was let in: %s", out)
	case !strings.Contains(err.Error(), "403"):
		return fmt.Errorf("it does not say 403: %w", err)
	}
	return nil
}

func (s *signedStory) deployed(ctx context.Context) bool {
	dir := filepath.Join(s.t.Dir, "iam-agents")
	err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, shopAgent+".yaml"), []byte(s.shops.agent()), 0o600))
	err = errors.Join(err, s.t.deploy(ctx, dir), s.t.deploy(ctx, filepath.Join(s.t.Module, "examples", deskAgent)))
	return s.b.check("agents are deployed", err)
}

func (s *signedStory) started(ctx context.Context) bool {
	out, err := s.ask(ctx, "", "run", deskAgent, "Refund order A-17, it arrived broken", "--wait", "--aws-iam", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &s.run)
	}
	return s.b.check("the program starts a run, and waits until it waits for an answer", errors.Join(err, waiting(s.run, 1)))
}

func (s *signedStory) listed(ctx context.Context) bool {
	err := until(ctx, patience, func() error {
		out, err := s.ask(ctx, "", "approvals", "--aws-iam", "--json")
		if err == nil && !strings.Contains(out, s.run.ID) {
			err = fmt.Errorf("run %s is not among them: %s", s.run.ID, out)
		}
		return err
	})
	return s.b.check("the program lists the call among those that wait", err)
}

func (s *signedStory) decided(ctx context.Context) bool {
	_, err := s.ask(ctx, "", "decide", s.run.ID, "--approve", "--aws-iam")
	return s.b.check("the program approves it", err)
}

// decider is how events name the caller whom [platform.Callers] knows: the end of his ARN, as far
// as names go, and a digest of all of it.
const decider = `"by":"token:user-proof-`

// watched follows the run to its end. Who decided is whom IAM knows by the signature.
func (s *signedStory) watched(ctx context.Context) bool {
	out, err := s.ask(ctx, "", "watch", s.run.ID, "--aws-iam", "--json")
	for _, part := range []string{"natural_end", "decision.recorded", decider} {
		if err == nil && !strings.Contains(out, part) {
			err = fmt.Errorf("%s is not in what it shows, which ends on\n%s", part, ending(out))
		}
	}
	return s.b.check("the program follows it to its natural end, and shows who decided", err)
}

// ending is what of a long text fits into a report.
func ending(text string) string { return text[max(0, len(text)-2000):] }

func (s *signedStory) once(context.Context) bool {
	// where the example's tool writes
	effects, err := torture.ReadLedger(filepath.Join(s.t.Platform.Tmp(platform.StepFunction), "refunds.jsonl"))
	if err == nil && len(effects) != 1 {
		err = fmt.Errorf("the ledger holds %d refunds", len(effects))
	}
	return s.b.check("the money went out once", err)
}

// raw sends a signed request without the project's client, as this command does:
//
//	curl -sS https://abc.execute-api.eu-central-1.amazonaws.com/v1/runs \
//	  --aws-sigv4 aws:amz:eu-central-1:execute-api \
//	  --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
//	  -H "x-amz-security-token: $AWS_SESSION_TOKEN" -H 'Content-Type: application/json' \
//	  -H 'Idempotency-Key: refund-A-2' -d '{"agent": "my-desk", "input": "Refund order A-2"}'
func (s *signedStory) raw(ctx context.Context) bool {
	r := byHand{method: http.MethodPost, path: "/v1/runs", body: `{"agent": "` + shopAgent + `", "input": "Refund order A-2"}`,
		headers: map[string]string{"Content-Type": "application/json", "Idempotency-Key": "refund-A-2"}}
	var ids []string
	var failed error
	for _, want := range []int{http.StatusAccepted, http.StatusOK} {
		code, answer, err := s.t.send(ctx, r)
		if err == nil && code != want {
			err = fmt.Errorf("it was answered with %d and not with %d: %s", code, want, answer)
		}
		failed = errors.Join(failed, err)
		_ = json.Unmarshal([]byte(answer), &s.run) // what is no run has another id, or none
		ids = append(ids, s.run.ID)
	}
	if failed == nil && ids[0] != ids[1] {
		failed = fmt.Errorf("one key started the runs %v", ids)
	}
	return s.b.check("a request that was signed by hand starts a run, and the same again finds it", failed)
}

// reached looks at whom the tools of that run came to: the service that the stack's parameter
// names, and not the one beside it.
func (s *signedStory) reached(ctx context.Context) bool {
	out, err := s.ask(ctx, "", "watch", s.run.ID, "--aws-iam", "--json")
	if err == nil && !strings.Contains(out, "natural_end") {
		err = fmt.Errorf("the run did not come to its natural end:\n%s", ending(out))
	}
	if !s.b.check("a run with HTTP tools comes to its end", err) {
		return false
	}
	shop, stranger := s.shops.shop.keys(), s.shops.stranger.keys()
	if len(shop) != 1 || !strings.HasPrefix(shop[0], s.run.ID) {
		err = fmt.Errorf("the shop was asked with the keys %q, and not once with one of run %s:\n%s", shop, s.run.ID, ending(out))
	}
	reached := s.b.check("a service that PrivateHosts names was reached once, with the key of the call", err)
	err = nil
	if len(stranger) > 0 || !strings.Contains(out, "call.failed") {
		err = fmt.Errorf("it was asked %d times, and the call should have failed:\n%s", len(stranger), ending(out))
	}
	return s.b.check("a service that it does not name was not reached", err) && reached
}
