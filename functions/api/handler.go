package main

import (
	"io"

	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsexamples"
)

// newHandler is an [awsapi.URL] where the function streams, else an [awsapi.Gateway]. It asks no server anything.
func newHandler(s awsenv.Settings, out io.Writer) (any, error) {
	f, err := awsenv.NewFront(s, awsexamples.Register, out)
	if err != nil {
		return nil, err
	}
	o := awsapi.Options{Frontend: f.Frontend, Clock: f.Clock, Access: s.Access, Links: f.LinkKeys, Version: s.Version, Logger: f.Logger}
	if s.Access.Stream {
		return awsapi.Streams(o)
	}
	return awsapi.Runs(o)
}
