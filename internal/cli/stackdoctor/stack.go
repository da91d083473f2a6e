package stackdoctor

import (
	"context"
	"strings"
)

// Types of resources.
const (
	typeAlarm    = "AWS::CloudWatch::Alarm"
	typeAlias    = "AWS::Lambda::Alias"
	typeFunction = "AWS::Lambda::Function"
	typeMapping  = "AWS::Lambda::EventSourceMapping"
	typeQueue    = "AWS::SQS::Queue"
	typeTable    = "AWS::DynamoDB::Table"
	typeVersion  = "AWS::Lambda::Version"
)

// Stacks reads stacks.
type Stacks interface {
	// Stack returns [ErrMissing] if there is none of that name.
	Stack(ctx context.Context, name string) (Stack, error)
}

// Stack is a stack of CloudFormation.
type Stack struct {
	Name, Status, Reason string
	Parameters, Outputs  map[string]string
	Resources            []Resource
}

// Resource is a resource of a stack.
type Resource struct {
	ID             string // logical, as in template.yaml
	Type           string
	Name           string // physical
	Status, Reason string
}

// all returns the resources of a type that were not deleted.
func (s Stack) all(kind string) (found []Resource) {
	for _, r := range s.Resources {
		if r.Type == kind && r.Name != "" && !strings.HasPrefix(r.Status, "DELETE_") {
			found = append(found, r)
		}
	}
	return found
}

// has says whether the stack has a resource with that logical id.
func (s Stack) has(kind, id string) bool {
	for _, r := range s.all(kind) {
		if r.ID == id {
			return true
		}
	}
	return false
}

// table is the name of the table, which may not be a resource of the stack; empty if unknown.
func (s Stack) table() string {
	if name := s.Outputs["TableName"]; name != "" {
		return name
	}
	for _, r := range s.all(typeTable) {
		return r.Name
	}
	return ""
}

// settled says whether no deployment is in progress.
func (s Stack) settled() bool { return !strings.HasSuffix(s.Status, "_IN_PROGRESS") }

func checkStack(s Stack) []Finding {
	r := results{check: "stack"}
	why := ""
	if s.Reason != "" {
		why = ": " + s.Reason
	}
	switch {
	case !s.settled():
		r.warn("run the command again when the deployment is over", "%s is %s; other findings may be about the state between two deployments", s.Name, s.Status)
	case s.Status == "UPDATE_ROLLBACK_COMPLETE":
		r.warn("correct the cause and deploy again; the stack's events name it", "the last deployment of %s was rolled back%s", s.Name, why)
	case s.Status == "ROLLBACK_COMPLETE", strings.HasSuffix(s.Status, "_FAILED"), strings.HasPrefix(s.Status, "DELETE_"):
		r.fail("correct the cause, which the stack's events name; a stack whose first deployment failed must be deleted before you deploy it again", "%s is %s%s", s.Name, s.Status, why)
	default:
		r.ok("%s is %s", s.Name, s.Status)
	}
	for _, res := range s.Resources {
		if strings.HasSuffix(res.Status, "_FAILED") {
			r.fail("correct the cause and deploy again", "%s (%s) is %s: %s", res.ID, res.Type, res.Status, res.Reason)
		}
	}
	if !s.has(typeFunction, "StepFunction") || s.table() == "" {
		r.fail("check --stack and --region", "%s has no StepFunction or no output TableName, so it is not a working stack of Dormouse's template", s.Name)
	}
	return r.found
}
