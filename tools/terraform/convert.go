package main

import (
	"maps"
	"slices"
	"strings"
)

// part is a resource for Terraform, whose properties are still values of CloudFormation: those
// of the template, or those of a deployment.
type part struct {
	kind, name, condition string
	properties            object
	extra                 map[string]raw // attributes that have no property
	keep                  bool           // outlives the stack
	after                 []string       // addresses that must be there before
}

// source gives what the two kinds of values have in different forms.
type source interface {
	// name is the name that CloudFormation makes up for a resource.
	name(id string) any
	// ref is what a reference to a resource is.
	ref(id string) any
	// alias is the function and the alias that a reference to an alias leads to, if it is one.
	alias(v any) (function, alias any)
}

// parts turns a resource of CloudFormation into those of Terraform.
func parts(id string, r resource, s source) []part {
	if leftOut[r.Type] != "" || leftOutResources[id] != "" {
		return nil
	}
	p := part{kind: r.Type, name: snake(id), condition: r.Condition, properties: maps.Clone(r.Properties), extra: map[string]raw{},
		keep: strings.HasPrefix(r.DeletionPolicy, "Retain")}
	k, known := kinds[r.Type]
	if !known {
		wrong("%s is of type %s, which Terraform's table (tools/terraform/kinds.go) lacks", id, r.Type)
	}
	all := more(id, &p, s)
	if k.name != "" {
		p.properties["(name)"] = s.name(id)
		if k.name == "name_prefix" {
			p.properties["(name)"] = suffixed(s.name(id))
			if len(id) > 16 {
				wrong("%s: a prefix has 38 characters, of which a deployment's name has 20: use an id of at most 16", id)
			}
		}
	}
	return append([]part{p}, all...)
}

// more changes properties to the form of Terraform, and returns what are resources of their own
// there.
func more(id string, p *part, s source) (all []part) {
	o := p.properties
	take := func(name string) any { v := o[name]; delete(o, name); return v }
	part := func(kind, name string, properties object) {
		all = append(all, part{kind: kind, name: p.name + name, condition: p.condition, properties: properties})
	}
	switch p.kind {
	case "AWS::CloudWatch::Alarm":
		alarm(o)
	case "AWS::DynamoDB::Table":
		table(o)
	case "AWS::SQS::Queue":
		o["SqsManagedSseEnabled"] = withoutFalse(o["SqsManagedSseEnabled"])
	case "AWS::SQS::QueuePolicy":
		o["Queue"] = list(take("Queues"))[0]
	case "AWS::SNS::Topic":
		for _, of := range list(take("Subscription")) {
			sub := maps.Clone(of.(object))
			sub["TopicArn"] = s.ref(id)
			part("AWS::SNS::Subscription", "", sub)
		}
	case "AWS::Lambda::EventInvokeConfig":
		delete(o, "DestinationConfig") // which SAM leaves empty
	case "AWS::Lambda::Permission":
		if function, alias := s.alias(o["FunctionName"]); alias != nil {
			o["FunctionName"], o["Qualifier"] = function, alias
		}
	case "AWS::ApiGatewayV2::Stage":
		settings := maps.Clone(o["AccessLogSettings"].(object))
		settings["DestinationArn"] = withoutStar(settings["DestinationArn"])
		o["AccessLogSettings"] = settings
	case "AWS::Budgets::Budget":
		budget(o)
	case "AWS::Lambda::Function":
		program := str(take("Code").(object)["S3Key"])
		p.extra["filename"] = raw("local.zips[" + quote(program) + "]")
		p.extra["source_code_hash"] = raw("filebase64sha256(local.zips[" + quote(program) + "])")
		p.extra["publish"] = "true"
		delete(o, "Tags") // SAM's, that it made the function
		if loop := take("RecursiveLoop"); loop != nil {
			part("Recursion", "", object{"FunctionName": s.ref(id), "RecursiveLoop": loop})
		}
	case "AWS::IAM::Role":
		for _, policy := range list(take("Policies")) {
			policy := maps.Clone(policy.(object))
			policy["RoleName"] = s.ref(id)
			part("AWS::IAM::RolePolicy", "_"+snake(strings.ReplaceAll(str(policy["PolicyName"]), "-", "_")), policy)
		}
		all = append(all, attachments(p, list(take("ManagedPolicyArns")), s.ref(id))...)
	}
	return all
}

// attachments are a role's managed policies, each if its condition holds.
func attachments(p *part, policies []any, role any) (all []part) {
	for i, policy := range policies {
		a := part{kind: "Attachment", condition: p.condition, properties: object{"RoleName": role, "PolicyArn": policy}}
		name := "_managed"
		if function, of := call(policy); function == "Fn::If" {
			a.condition = strings.Trim(a.condition+"&&"+str(list(of)[0]), "&")
			a.properties["PolicyArn"] = list(of)[1]
			name = "_" + snake(str(list(of)[0]))
		} else if i > 0 {
			name += "_" + string(rune('0'+i))
		}
		a.name = p.name + name
		all = append(all, a)
	}
	return all
}

func alarm(o object) {
	if o["Dimensions"] != nil {
		o["Dimensions"] = dimensions(o["Dimensions"])
	}
	metrics := slices.Clone(list(o["Metrics"]))
	for i, m := range metrics {
		m := maps.Clone(m.(object))
		if stat, is := m["MetricStat"].(object); is {
			stat = maps.Clone(stat)
			of := stat["Metric"].(object)
			delete(stat, "Metric")
			stat["MetricName"], stat["Namespace"], stat["Dimensions"] = of["MetricName"], of["Namespace"], dimensions(of["Dimensions"])
			m["MetricStat"] = stat
		}
		metrics[i] = m
	}
	if metrics != nil {
		o["Metrics"] = metrics
	}
}

func dimensions(v any) any {
	of := object{}
	for _, d := range list(v) {
		of[str(d.(object)["Name"])] = d.(object)["Value"]
	}
	return of
}

func table(o object) {
	keys(o)
	indexes := slices.Clone(list(o["GlobalSecondaryIndexes"]))
	for i, index := range indexes {
		index := maps.Clone(index.(object))
		keys(index)
		index["ProjectionType"] = index["Projection"].(object)["ProjectionType"]
		delete(index, "Projection")
		indexes[i] = index
	}
	o["GlobalSecondaryIndexes"] = indexes
	sse := maps.Clone(o["SSESpecification"].(object))
	delete(sse, "SSEType") // KMS is the only one
	o["SSESpecification"] = sse
}

func keys(o object) {
	for _, k := range list(o["KeySchema"]) {
		k := k.(object)
		o[map[string]string{"HASH": "HashKey", "RANGE": "RangeKey"}[str(k["KeyType"])]] = k["AttributeName"]
	}
	delete(o, "KeySchema")
}

// budget lays out the budget as Terraform has it: kinds of subscribers are lists of their own.
func budget(o object) {
	b := o["Budget"].(object)
	limit := b["BudgetLimit"].(object)
	o["BudgetType"], o["TimeUnit"], o["LimitAmount"], o["LimitUnit"] = b["BudgetType"], b["TimeUnit"], limit["Amount"], limit["Unit"]
	var all []any
	for _, n := range list(o["NotificationsWithSubscribers"]) {
		n := n.(object)
		of := maps.Clone(n["Notification"].(object))
		if of["ThresholdType"] == nil {
			of["ThresholdType"] = "PERCENTAGE" // AWS's default
		}
		for kind, to := range map[string]string{"SNS": "SubscriberSnsTopicArns", "EMAIL": "SubscriberEmailAddresses"} {
			var addresses []any
			for _, sub := range list(n["Subscribers"]) {
				if address := ofKind(sub, kind); !absent(address) {
					addresses = append(addresses, address)
				}
			}
			of[to] = addresses
		}
		all = append(all, of)
	}
	o["Notifications"] = all
	delete(o, "Budget")
	delete(o, "NotificationsWithSubscribers")
}

var noValue = object{"Ref": "AWS::NoValue"}

// ofKind is the address of a subscriber of that kind, and none of another.
func ofKind(sub any, kind string) any {
	if name, of := call(sub); name == "Fn::If" {
		return object{"Fn::If": []any{list(of)[0], ofKind(list(of)[1], kind), ofKind(list(of)[2], kind)}}
	}
	if sub.(object)["SubscriptionType"] == kind {
		return sub.(object)["Address"]
	}
	return noValue
}

// withoutFalse leaves a setting out that Terraform refuses beside a key, even if it is false.
func withoutFalse(v any) any {
	if name, of := call(v); name == "Fn::If" {
		return object{"Fn::If": []any{list(of)[0], withoutFalse(list(of)[1]), withoutFalse(list(of)[2])}}
	}
	if v == false || v == "false" {
		return noValue
	}
	return v
}

// withoutStar is the ARN of a log group as the stage of an API wants it.
func withoutStar(v any) any {
	if name, of := call(v); name == "Fn::GetAtt" {
		return object{"Fn::GetAtt": []any{list(of)[0], "ArnWithoutStar"}}
	}
	return strings.TrimSuffix(str(v), ":*")
}

func suffixed(v any) any {
	if name, of := call(v); name == "Fn::Sub" {
		return object{"Fn::Sub": str(of) + "-"}
	}
	return str(v) + "-"
}
