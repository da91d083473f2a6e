// Package awscli is what the command line needs of AWS: credentials as the environment, the
// profiles and the machine have them, the table of a stack, and signatures on requests to an API
// that lets callers in by IAM. It is not for functions, which read their environment alone and link
// none of this.
package awscli

import (
	"os"
	"regexp"
)

// Problem is why AWS cannot be used, and what to do about it. Kind is stable, for programs.
type Problem struct {
	// no_credentials, no_region, no_table, access_denied, throttled, wrong_clock, unreachable
	// or aws
	Kind  string
	What  string
	cause error
}

func (p *Problem) Error() string { return p.What }

// Unwrap returns what the SDK said.
func (p *Problem) Unwrap() error { return p.cause }

// WhichCredentials is where the ones that are used come from, as far as the environment tells. It
// shows none of them.
func WhichCredentials() string {
	switch {
	case os.Getenv("AWS_ACCESS_KEY_ID") != "":
		return "AWS_ACCESS_KEY_ID in the environment"
	case os.Getenv("AWS_PROFILE") != "":
		return "the profile " + os.Getenv("AWS_PROFILE")
	}
	return "the default profile"
}

var apiHost = regexp.MustCompile(`\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$`)

// RegionOf is the region in the host name of an API; empty for a custom domain name.
func RegionOf(host string) string {
	if found := apiHost.FindStringSubmatch(host); found != nil {
		return found[1]
	}
	return ""
}
