package stack

import (
	"fmt"
	"strings"
)

// nameOf is the property that gives a resource of this type its name.
var nameOf = map[string]string{"AWS::DynamoDB::Table": "TableName", "AWS::SQS::Queue": "QueueName", "AWS::Lambda::Function": "FunctionName",
	"AWS::Logs::LogGroup": "LogGroupName", "AWS::SNS::Topic": "TopicName", "AWS::IAM::Role": "RoleName", "AWS::CloudWatch::Alarm": "AlarmName",
	"AWS::CloudWatch::Dashboard": "DashboardName", "AWS::Events::Rule": "Name", "AWS::S3::Bucket": "BucketName"}

// physical is the name of a resource: the one it has in the template, or the stack's with its logical id.
func (r *resolver) physical(id string) (string, error) {
	res := r.resources[id]
	if own, given := res.Properties[nameOf[res.Type]]; given {
		value, err := r.resolve(own)
		if _, gone := value.(none); err != nil || !gone {
			return text(value), err
		}
	}
	return r.o.Name + "-" + id, nil
}

func (r *resolver) arn(service, rest string) string {
	return "arn:aws:" + service + ":" + r.o.Region + ":" + r.o.Account + ":" + rest
}

func (r *resolver) ref(name string) (any, error) {
	if value, there := r.parameters[name]; there {
		return value, nil
	}
	switch name {
	case "AWS::Region":
		return r.o.Region, nil
	case "AWS::AccountId":
		return r.o.Account, nil
	case "AWS::Partition":
		return "aws", nil
	case "AWS::StackName":
		return r.o.Name, nil
	case "AWS::StackId":
		return r.arn("cloudformation", "stack/"+r.o.Name+"/0"), nil
	case "AWS::URLSuffix":
		return "amazonaws.com", nil
	case "AWS::NoValue":
		return none{}, nil
	}
	res, there := r.resources[name]
	if !there {
		return nil, fmt.Errorf("the reference to %s leads nowhere", name)
	}
	return r.refTo(name, res)
}

func (r *resolver) refTo(id string, res resource) (any, error) {
	name, err := r.physical(id)
	if err != nil {
		return nil, err
	}
	switch res.Type {
	case "AWS::SQS::Queue":
		return "https://sqs." + r.o.Region + ".amazonaws.com/" + r.o.Account + "/" + name, nil
	case "AWS::SNS::Topic":
		return r.arn("sns", name), nil
	case "AWS::Lambda::Alias":
		function, err := r.resolve(res.Properties["FunctionName"])
		return r.arn("lambda", "function:"+text(function)+":"+text(res.Properties["Name"])), err
	case "AWS::ApiGatewayV2::Stage":
		return r.resolve(res.Properties["StageName"])
	case "AWS::ApiGatewayV2::Api":
		return strings.ToLower(id), nil
	}
	return name, nil
}

func (r *resolver) getAtt(argument any) (any, error) {
	id, attribute, ok := strings.Cut(text(argument), ".")
	if parts, isList := argument.([]any); isList && len(parts) == 2 {
		id, attribute, ok = text(parts[0]), text(parts[1]), true
	}
	res, there := r.resources[id]
	if !ok || !there {
		return nil, fmt.Errorf("the reference to the attribute %v leads nowhere", argument)
	}
	name, err := r.physical(id)
	if err != nil {
		return nil, err
	}
	switch res.Type + "." + attribute {
	case "AWS::DynamoDB::Table.Arn":
		return r.arn("dynamodb", "table/"+name), nil
	case "AWS::SQS::Queue.Arn":
		return r.arn("sqs", name), nil
	case "AWS::SQS::Queue.QueueName":
		return name, nil
	case "AWS::Lambda::Function.Arn":
		return r.arn("lambda", "function:"+name), nil
	case "AWS::Lambda::Version.Version":
		return "1", nil
	case "AWS::Lambda::Url.FunctionUrl":
		return "https://" + strings.ToLower(id) + ".lambda-url." + r.o.Region + ".on.aws/", nil
	case "AWS::IAM::Role.Arn":
		return "arn:aws:iam::" + r.o.Account + ":role/" + name, nil
	case "AWS::Logs::LogGroup.Arn":
		return r.arn("logs", "log-group:"+name+":*"), nil
	case "AWS::Events::Rule.Arn":
		return r.arn("events", "rule/"+name), nil
	case "AWS::CloudWatch::Alarm.Arn":
		return r.arn("cloudwatch", "alarm:"+name), nil
	case "AWS::SNS::Topic.TopicName", "AWS::SNS::Topic.TopicArn":
		return r.arn("sns", name), nil
	case "AWS::ApiGatewayV2::Api.ApiEndpoint":
		return "https://" + strings.ToLower(id) + ".execute-api." + r.o.Region + ".amazonaws.com", nil
	case "AWS::ApiGatewayV2::Api.ApiId":
		return strings.ToLower(id), nil
	}
	return nil, fmt.Errorf("this reader does not know the attribute %s of %s (%s)", attribute, id, res.Type)
}

// sub fills in a text: ${Name}, ${Name.Attribute}, ${!literal}, and names of its own if it has any.
func (r *resolver) sub(argument any) (any, error) {
	pattern, own := argument, map[string]any{}
	if parts, isList := argument.([]any); isList && len(parts) == 2 {
		pattern = parts[0]
		own, _ = parts[1].(map[string]any)
	}
	rest, ok := pattern.(string)
	if !ok {
		return nil, fmt.Errorf("Fn::Sub: %v is no text", pattern)
	}
	var out strings.Builder
	for {
		before, after, more := strings.Cut(rest, "${")
		out.WriteString(before)
		if !more {
			return out.String(), nil
		}
		name, after, closed := strings.Cut(after, "}")
		if !closed {
			return nil, fmt.Errorf("Fn::Sub: a ${ without its end in %q", pattern)
		}
		value, err := r.subName(name, own)
		if err != nil {
			return nil, err
		}
		out.WriteString(text(value))
		rest = after
	}
}

func (r *resolver) subName(name string, own map[string]any) (any, error) {
	if value, there := own[name]; there {
		return r.resolve(value)
	}
	if literal, is := strings.CutPrefix(name, "!"); is {
		return "${" + literal + "}", nil
	}
	if strings.Contains(name, ".") {
		return r.getAtt(name)
	}
	return r.ref(name)
}
