package main

import (
	"io"

	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/aws/awsexamples"
)

// newHandler asks no server anything.
func newHandler(s awsenv.Settings, out io.Writer) (awsapi.Gateway, error) {
	f, err := awsenv.NewFront(s, awsexamples.Register, out)
	if err != nil {
		return nil, err
	}
	return awsapi.Decisions(awsapi.Options{Frontend: f.Frontend, Clock: f.Clock, Access: s.Access, Links: f.LinkKeys, Version: s.Version, Logger: f.Logger})
}
