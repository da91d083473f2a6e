// Package awsruns is the program of two functions of a stack: one serves the HTTP API, except for
// decisions, and the protocols of chat clients; the other serves the streams. Both link the SDKs of
// the protocols, which the other functions do without.
package awsruns

import (
	"io"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/protocols"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/frontend/pushes"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/quota"
)

// Open assembles the function: an [awsapi.Gateway], or an [awsapi.URL] where the settings say that
// it streams. Log lines go to out. It makes no network request.
func Open(s awsenv.Settings, register awsenv.Register, out io.Writer) (any, error) {
	f, err := awsenv.NewFront(s, register, out)
	if err != nil {
		return nil, err
	}
	o := awsapi.Options{Frontend: f.Frontend, Webhooks: f.Webhooks, Clock: f.Clock, Access: s.Access, Links: f.LinkKeys, Public: s.Public, Watched: f.Watched(), Rates: s.Rates, Buckets: quota.NewBuckets(f.Units, s.Table),
		Protocols: spoken(f, s.Settings), Version: s.Version, Policy: s.PolicyDigest(), Logger: f.Logger, Metrics: f.Metrics}
	if s.Access.Stream {
		o.Tickets = quota.NewTickets(f.Units, s.Table, f.Random)
		return awsapi.Streams(o)
	}
	return awsapi.Runs(o)
}

// spoken are the protocols of chat clients. Their routes start runs, so they belong to the function
// that may; it may decide as well, since a message can wake a run as a decision does. The routes of
// the API for decisions, and approval links, have a function of their own, which a flood of chats
// doesn't reach.
func spoken(f awsenv.Front, s stack.Settings) func(access.LinkSource) []httpapi.Protocol {
	reads := query.New(f.Frontend)
	desk := pushes.New(pushes.Options{Store: f.Store, Lines: f.Store, Waker: f.Waker, Frontend: f.Frontend})
	return func(keys access.LinkSource) []httpapi.Protocol {
		p := protocols.Server{Runs: f.Frontend, Reads: reads, Inbox: reads, Pushes: desk, Clock: f.Clock, Version: s.Version, Public: s.Public, Keys: keys}
		switch s.Access.Auth {
		case stack.JWT:
			p.Auth = protocols.Bearer
			if s.Access.Issuer != "" {
				p.Issuers = []string{s.Access.Issuer}
			}
		case stack.IAM:
			p.Auth = signatureV4
		}
		return protocols.All(p)
	}
}

// signatureV4 is the scheme of the Authorization header of a request that is signed with AWS
// credentials.
const signatureV4 = "AWS4-HMAC-SHA256"
