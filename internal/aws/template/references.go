package template

import (
	"fmt"
	"strings"
)

// nameOf is the property that gives a resource of this type its name.
var nameOf = map[string]string{"AWS::DynamoDB::Table": "TableName", "AWS::SQS::Queue": "QueueName", "AWS::Lambda::Function": "FunctionName",
	"AWS::Logs::LogGroup": "LogGroupName", "AWS::SNS::Topic": "TopicName", "AWS::IAM::Role": "RoleName", "AWS::CloudWatch::Alarm": "AlarmName",
	"AWS::CloudWatch::Dashboard": "DashboardName", "AWS::Events::Rule": "Name", "AWS::S3::Bucket": "BucketName"}

// Name returns the name of a resource in its account: its own if the template gives one, or else
// the name of the stack with the logical id.
func (r *Resolver) Name(id string) (string, error) {
	res := r.t.Resource(id)
	if own := res.Get(nameOf[res.Type()]); own != nil {
		if value, err := r.Resolve(own); err != nil || value != nil {
			return Text(value), err
		}
	}
	return r.d.Stack + "-" + id, nil
}

// ARN returns the ARN of a service's resource in the region and account of the deployment.
func (r *Resolver) ARN(service, rest string) string {
	return "arn:aws:" + service + ":" + r.d.Region + ":" + r.d.Account + ":" + rest
}

// ref evaluates {"Ref": name}: a parameter, a pseudo parameter, or what the service of a resource
// returns for it.
func (r *Resolver) ref(name string) (any, error) {
	if value, there := r.parameters[name]; there {
		return value, nil
	}
	switch name {
	case "AWS::Region":
		return r.d.Region, nil
	case "AWS::AccountId":
		return r.d.Account, nil
	case "AWS::Partition":
		return "aws", nil
	case "AWS::StackName":
		return r.d.Stack, nil
	case "AWS::StackId":
		return r.ARN("cloudformation", "stack/"+r.d.Stack+"/0"), nil
	case "AWS::URLSuffix":
		return "amazonaws.com", nil
	case "AWS::NoValue":
		return none{}, nil
	}
	res := r.t.Resource(name)
	if res.Body == nil {
		return nil, fmt.Errorf("the reference to %s cannot be resolved", name)
	}
	return r.refTo(res)
}

func (r *Resolver) refTo(res Resource) (any, error) {
	name, err := r.Name(res.ID)
	if err != nil {
		return nil, err
	}
	switch res.Type() {
	case "AWS::SQS::Queue":
		return "https://sqs." + r.d.Region + ".amazonaws.com/" + r.d.Account + "/" + name, nil
	case "AWS::SNS::Topic":
		return r.ARN("sns", name), nil
	case "AWS::Lambda::Alias":
		function, err := r.resolve(res.Get("FunctionName"))
		return r.ARN("lambda", "function:"+Text(function)+":"+Text(res.Get("Name"))), err
	case "AWS::Lambda::Version":
		function, err := r.resolve(res.Get("FunctionName"))
		return r.ARN("lambda", "function:"+Text(function)+":1"), err
	case "AWS::ApiGatewayV2::Stage":
		return r.resolve(res.Get("StageName"))
	case "AWS::ApiGatewayV2::Api":
		return strings.ToLower(res.ID), nil
	}
	return name, nil
}

// splitAttribute splits the argument of Fn::GetAtt, which is ["Id", "Attribute"] or "Id.Attribute".
func splitAttribute(argument any) (id, attribute string, ok bool) {
	if parts, isList := argument.([]any); isList && len(parts) == 2 {
		return Text(parts[0]), Text(parts[1]), true
	}
	return strings.Cut(Text(argument), ".")
}

func (r *Resolver) getAtt(argument any) (any, error) {
	id, attribute, ok := splitAttribute(argument)
	res := r.t.Resource(id)
	if !ok || res.Body == nil {
		return nil, fmt.Errorf("the reference to the attribute %v cannot be resolved", argument)
	}
	name, err := r.Name(id)
	if err != nil {
		return nil, err
	}
	switch res.Type() + "." + attribute {
	case "AWS::DynamoDB::Table.Arn":
		return r.ARN("dynamodb", "table/"+name), nil
	case "AWS::SQS::Queue.Arn":
		return r.ARN("sqs", name), nil
	case "AWS::SQS::Queue.QueueName":
		return name, nil
	case "AWS::Lambda::Function.Arn":
		return r.ARN("lambda", "function:"+name), nil
	case "AWS::Lambda::Version.Version":
		return "1", nil
	case "AWS::Lambda::Url.FunctionUrl":
		return "https://" + strings.ToLower(id) + ".lambda-url." + r.d.Region + ".on.aws/", nil
	case "AWS::IAM::Role.Arn":
		return "arn:aws:iam::" + r.d.Account + ":role/" + name, nil
	case "AWS::Logs::LogGroup.Arn":
		return r.ARN("logs", "log-group:"+name+":*"), nil
	case "AWS::Events::Rule.Arn":
		return r.ARN("events", "rule/"+name), nil
	case "AWS::CloudWatch::Alarm.Arn":
		return r.ARN("cloudwatch", "alarm:"+name), nil
	case "AWS::SNS::Topic.TopicName", "AWS::SNS::Topic.TopicArn":
		return r.ARN("sns", name), nil
	case "AWS::ApiGatewayV2::Api.ApiEndpoint":
		return "https://" + strings.ToLower(id) + ".execute-api." + r.d.Region + ".amazonaws.com", nil
	case "AWS::ApiGatewayV2::Api.ApiId":
		return strings.ToLower(id), nil
	}
	return nil, fmt.Errorf("this reader does not know the attribute %s of %s (%s)", attribute, id, res.Type())
}
