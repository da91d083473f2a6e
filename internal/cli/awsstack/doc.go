// Package awsstack reads a stack on AWS for the checks of package stackdoctor, with the SDK's
// clients. It translates their errors: a missing permission is a [stackdoctor.Denied].
package awsstack
