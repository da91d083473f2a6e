package main

// field says what Terraform calls a property: an attribute, or a block if it has members. A JSON
// attribute is a text that has the property as JSON.
type field struct {
	to      string
	members fields
	json    bool
}

type fields map[string]field

func at(to string) field                { return field{to: to} }
func asJSON(to string) field            { return field{to: to, json: true} }
func block(to string, of fields) field  { return field{to: to, members: of} }
func plain(names ...string) fields      { return with(fields{}, names...) }
func with(f fields, n ...string) fields { return add(f, n) }

func add(f fields, names []string) fields {
	for _, name := range names {
		f[name] = at(snake(name))
	}
	return f
}

// kind says how a type of CloudFormation is written for Terraform: the type, what references to
// it are, and its properties. A name is the attribute with the name that CloudFormation would
// make up.
type kind struct {
	to, name string
	get      map[string]string // by Ref or attribute; what follows a colon is added
	fields   fields
}

var metric = fields{"Stat": at("stat"), "Period": at("period"), "MetricName": at("metric_name"), "Namespace": at("namespace"), "Dimensions": at("dimensions")}

// kinds are the types that the template has. Properties that convert changes have their new form.
var kinds = map[string]kind{
	"AWS::ApiGatewayV2::Api": {to: "aws_apigatewayv2_api", get: map[string]string{"Ref": "id", "ApiEndpoint": "api_endpoint"},
		fields: with(fields{"CorsConfiguration": block("cors_configuration", plain("AllowOrigins", "AllowMethods", "AllowHeaders", "ExposeHeaders", "MaxAge", "AllowCredentials"))},
			"Name", "ProtocolType", "DisableExecuteApiEndpoint")},
	"AWS::ApiGatewayV2::Authorizer": {to: "aws_apigatewayv2_authorizer", get: map[string]string{"Ref": "id"},
		fields: with(fields{"IdentitySource": at("identity_sources"), "JwtConfiguration": block("jwt_configuration", plain("Audience", "Issuer"))}, "ApiId", "AuthorizerType", "Name")},
	"AWS::ApiGatewayV2::Integration": {to: "aws_apigatewayv2_integration", get: map[string]string{"Ref": "id"},
		fields: with(fields{"TimeoutInMillis": at("timeout_milliseconds")}, "ApiId", "IntegrationType", "IntegrationUri", "PayloadFormatVersion")},
	"AWS::ApiGatewayV2::Route": {to: "aws_apigatewayv2_route", fields: plain("ApiId", "AuthorizationType", "AuthorizerId", "RouteKey", "Target")},
	"AWS::ApiGatewayV2::Stage": {to: "aws_apigatewayv2_stage", get: map[string]string{"Ref": "name"},
		fields: with(fields{"StageName": at("name"), "AccessLogSettings": block("access_log_settings", plain("DestinationArn", "Format")),
			"DefaultRouteSettings": block("default_route_settings", plain("ThrottlingBurstLimit", "ThrottlingRateLimit"))}, "ApiId", "AutoDeploy")},
	"AWS::Budgets::Budget": {to: "aws_budgets_budget", name: "name",
		fields: with(fields{"Notifications": block("notification", plain("NotificationType", "ComparisonOperator", "Threshold", "ThresholdType",
			"SubscriberSnsTopicArns", "SubscriberEmailAddresses"))}, "BudgetType", "TimeUnit", "LimitAmount", "LimitUnit")},
	"AWS::CloudWatch::Alarm": {to: "aws_cloudwatch_metric_alarm", name: "alarm_name", get: map[string]string{"Ref": "alarm_name", "Arn": "arn"},
		fields: with(fields{"OKActions": at("ok_actions"), "Metrics": block("metric_query", fields{"Id": at("id"), "Expression": at("expression"), "Label": at("label"),
			"ReturnData": at("return_data"), "MetricStat": block("metric", metric)})},
			"AlarmActions", "AlarmDescription", "ComparisonOperator", "DatapointsToAlarm", "Dimensions", "EvaluationPeriods", "ExtendedStatistic", "MetricName", "Namespace",
			"Period", "Statistic", "Threshold", "TreatMissingData")},
	"AWS::CloudWatch::Dashboard": {to: "aws_cloudwatch_dashboard", fields: plain("DashboardBody", "DashboardName")},
	"AWS::DynamoDB::Table": {to: "aws_dynamodb_table", name: "name", get: map[string]string{"Ref": "name", "Arn": "arn"},
		fields: with(fields{"AttributeDefinitions": block("attribute", fields{"AttributeName": at("name"), "AttributeType": at("type")}),
			"GlobalSecondaryIndexes":           block("global_secondary_index", fields{"IndexName": at("name"), "HashKey": at("hash_key"), "RangeKey": at("range_key"), "ProjectionType": at("projection_type")}),
			"PointInTimeRecoverySpecification": block("point_in_time_recovery", fields{"PointInTimeRecoveryEnabled": at("enabled")}),
			"SSESpecification":                 block("server_side_encryption", fields{"SSEEnabled": at("enabled"), "KMSMasterKeyId": at("kms_key_arn")}),
			"TimeToLiveSpecification":          block("ttl", plain("AttributeName", "Enabled"))},
			"BillingMode", "DeletionProtectionEnabled", "HashKey", "RangeKey")},
	"AWS::IAM::ManagedPolicy": {to: "aws_iam_policy", name: "name_prefix", get: map[string]string{"Ref": "arn"}, fields: fields{"PolicyDocument": asJSON("policy")}},
	"AWS::IAM::Role": {to: "aws_iam_role", name: "name_prefix", get: map[string]string{"Ref": "name", "Arn": "arn"},
		fields: with(fields{"AssumeRolePolicyDocument": asJSON("assume_role_policy")}, "PermissionsBoundary")},
	"AWS::IAM::RolePolicy":    {to: "aws_iam_role_policy", fields: fields{"PolicyName": at("name"), "RoleName": at("role"), "PolicyDocument": asJSON("policy")}},
	"Attachment":              {to: "aws_iam_role_policy_attachment", fields: fields{"RoleName": at("role"), "PolicyArn": at("policy_arn")}},
	"AWS::Lambda::Alias":      {to: "aws_lambda_alias", get: map[string]string{"Ref": "arn"}, fields: plain("Name", "FunctionName", "FunctionVersion")},
	"AWS::SNS::Subscription":  {to: "aws_sns_topic_subscription", fields: plain("TopicArn", "Protocol", "Endpoint")},
	"Recursion":               {to: "aws_lambda_function_recursion_config", fields: plain("FunctionName", "RecursiveLoop")},
	"AWS::Lambda::Permission": {to: "aws_lambda_permission", fields: plain("Action", "FunctionName", "FunctionUrlAuthType", "InvokedViaFunctionUrl", "Principal", "SourceArn", "Qualifier")},
	"AWS::Lambda::EventInvokeConfig": {to: "aws_lambda_function_event_invoke_config",
		fields: plain("FunctionName", "MaximumEventAgeInSeconds", "MaximumRetryAttempts", "Qualifier")},
	"AWS::Lambda::EventSourceMapping": {to: "aws_lambda_event_source_mapping",
		fields: with(fields{"ScalingConfig": block("scaling_config", plain("MaximumConcurrency"))}, "BatchSize", "EventSourceArn", "FunctionName", "FunctionResponseTypes")},
	"AWS::Lambda::Function": {to: "aws_lambda_function", name: "function_name", get: map[string]string{"Ref": "function_name", "Arn": "arn"},
		fields: with(fields{"Environment": block("environment", plain("Variables")), "TracingConfig": block("tracing_config", plain("Mode")),
			"VpcConfig": block("vpc_config", plain("SubnetIds", "SecurityGroupIds")), "LoggingConfig": block("logging_config", plain("LogFormat", "ApplicationLogLevel", "LogGroup"))},
			"Architectures", "Handler", "MemorySize", "ReservedConcurrentExecutions", "Role", "Runtime", "Timeout")},
	"AWS::Lambda::Url": {to: "aws_lambda_function_url", get: map[string]string{"FunctionUrl": "function_url"},
		fields: fields{"TargetFunctionArn": at("function_name"), "AuthType": at("authorization_type"), "InvokeMode": at("invoke_mode")}},
	"AWS::Logs::LogGroup": {to: "aws_cloudwatch_log_group", get: map[string]string{"Ref": "name", "Arn": "arn:*", "ArnWithoutStar": "arn"},
		fields: with(fields{"LogGroupName": at("name"), "RetentionInDays": at("retention_in_days")}, "KmsKeyId")},
	"AWS::SNS::Topic": {to: "aws_sns_topic", name: "name", get: map[string]string{"Ref": "arn"}, fields: plain("KmsMasterKeyId")},
	"AWS::SQS::Queue": {to: "aws_sqs_queue", name: "name", get: map[string]string{"Ref": "url", "Arn": "arn", "QueueName": "name"},
		fields: with(fields{"VisibilityTimeout": at("visibility_timeout_seconds"), "MessageRetentionPeriod": at("message_retention_seconds"), "RedrivePolicy": asJSON("redrive_policy")},
			"KmsMasterKeyId", "SqsManagedSseEnabled")},
	"AWS::SQS::QueuePolicy": {to: "aws_sqs_queue_policy", fields: fields{"Queue": at("queue_url"), "PolicyDocument": asJSON("policy")}},
	"AWS::Scheduler::Schedule": {to: "aws_scheduler_schedule", name: "name",
		fields: with(fields{"FlexibleTimeWindow": block("flexible_time_window", plain("Mode")), "Target": block("target", with(fields{
			"DeadLetterConfig": block("dead_letter_config", plain("Arn")), "RetryPolicy": block("retry_policy", plain("MaximumEventAgeInSeconds", "MaximumRetryAttempts"))}, "Arn", "RoleArn"))},
			"ScheduleExpression")},
}

// leftOut are types that Terraform has no use for, and why.
var leftOut = map[string]string{
	"AWS::Lambda::Version":             "aws_lambda_function publishes versions (publish)",
	"AWS::CodeDeploy::Application":     "the alias moves when Terraform applies; CloudFormation alone hands that to CodeDeploy",
	"AWS::CodeDeploy::DeploymentGroup": "as the application",
}

// leftOutResources are resources that only what is left out uses, and why.
var leftOutResources = map[string]string{
	"DeployRole":         "CodeDeploy's",
	"PreTrafficFunction": "CodeDeploy alone invokes it",
	"PreTrafficLogGroup": "as the function",
	"PreTrafficRole":     "as the function",
}
