# Generated from template.yaml by .ci/ways update; do not edit.

data "aws_region" "current" {}

data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

resource "aws_cloudwatch_log_group" "access_log_group" {
  kms_key_id        = (local.has_key ? var.kms_key_arn : null)
  name              = "/aws/vendedlogs/${var.name}/http"
  retention_in_days = var.log_retention_days
}

resource "aws_apigatewayv2_route" "add_webhook_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/webhooks"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_sns_topic" "alarm_topic" {
  count             = local.makes_topic ? 1 : 0
  name              = "${var.name}-AlarmTopic"
  kms_master_key_id = (local.has_key ? var.kms_key_arn : null)
}

resource "aws_sns_topic_subscription" "alarm_topic" {
  count     = local.makes_topic ? 1 : 0
  endpoint  = var.alarm_email
  protocol  = "email"
  topic_arn = aws_sns_topic.alarm_topic[0].arn
}

resource "aws_apigatewayv2_route" "answer_link_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "POST /v1/approvals/{token}"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_apigatewayv2_route" "answer_suspension_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/suspensions/{id}"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_cloudwatch_metric_alarm" "api_canary_alarm" {
  alarm_name          = "${var.name}-ApiCanaryAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The newest version of ApiFunction crashed or timed out. During a rollout this alarm rolls it back."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions = {
    "ExecutedVersion" = aws_lambda_function.api_function.version
    "FunctionName"    = aws_lambda_function.api_function.function_name
    "Resource"        = "${aws_lambda_function.api_function.function_name}:live"
  }
  evaluation_periods = 1
  metric_name        = "Errors"
  namespace          = "AWS/Lambda"
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period             = 60
  statistic          = "Sum"
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "api_errors_alarm" {
  alarm_name          = "${var.name}-ApiErrorsAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "ApiFunction crashed or timed out."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "FunctionName" = aws_lambda_function.api_function.function_name }
  evaluation_periods  = 1
  metric_name         = "Errors"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "api_failing_alarm" {
  alarm_name          = "${var.name}-ApiFailingAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "More than a tenth of the answers of the newest version of ApiFunction are 5xx. During a rollout this alarm rolls it back."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 2
  evaluation_periods  = 3

  metric_query {
    expression  = "IF(FILL(failed, 0) * 10 > invoked, 1, 0)"
    id          = "share"
    return_data = true
  }

  metric_query {
    id = "failed"

    metric {
      dimensions = {
        "Function" = aws_lambda_function.api_function.function_name
        "Stack"    = var.name
        "Version"  = aws_lambda_function.api_function.version
      }
      metric_name = "ServerErrors"
      namespace   = "Dormouse"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }

  metric_query {
    id = "invoked"

    metric {
      dimensions = {
        "ExecutedVersion" = aws_lambda_function.api_function.version
        "FunctionName"    = aws_lambda_function.api_function.function_name
        "Resource"        = "${aws_lambda_function.api_function.function_name}:live"
      }
      metric_name = "Invocations"
      namespace   = "AWS/Lambda"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_lambda_function" "api_function" {
  function_name = "${var.name}-ApiFunction"
  architectures = ["arm64"]

  environment {
    variables = {
      "DORMOUSE_AUTH"             = var.auth
      "DORMOUSE_IAM_ROLES"        = var.iam_roles
      "DORMOUSE_JWT_ISSUER"       = var.jwt_issuer
      "DORMOUSE_LIVE_TEXT"        = var.live_text
      "DORMOUSE_NOTIFY_QUEUE_URL" = aws_sqs_queue.notify_queue.url
      "DORMOUSE_ORIGINS"          = join(",", var.origins)
      "DORMOUSE_POLICY"           = var.policy
      "DORMOUSE_PUBLIC_URL"       = (local.has_public_url ? var.public_url : aws_apigatewayv2_api.http_api.api_endpoint)
      "DORMOUSE_RATES"            = "starts=${var.starts_per_second} decisions=${var.decisions_per_second} streams=${var.streams_per_second} held=${var.held_reads} api=${var.api_concurrency}"
      "DORMOUSE_ROLES_CLAIM"      = var.roles_claim
      "DORMOUSE_SHARDS"           = var.shards
      "DORMOUSE_STACK"            = var.name
      "DORMOUSE_STREAM_URL"       = (local.has_streams ? aws_lambda_function_url.stream_function_url[0].function_url : "")
      "DORMOUSE_TABLE"            = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      "DORMOUSE_TENANT"           = var.tenant
      "DORMOUSE_TENANT_CLAIM"     = var.tenant_claim
      "DORMOUSE_TENANT_DAY_COST"  = var.tenant_day_cost
      "DORMOUSE_VERSION"          = var.app_version
      "DORMOUSE_WAKE_QUEUE_URL"   = aws_sqs_queue.wake_queue.url
    }
  }
  handler = "bootstrap"

  logging_config {
    application_log_level = var.log_level
    log_format            = "JSON"
    log_group             = aws_cloudwatch_log_group.api_log_group.name
  }
  memory_size                    = 512
  reserved_concurrent_executions = (local.reserves_api ? var.api_concurrency : null)
  role                           = aws_iam_role.api_role.arn
  runtime                        = "provided.al2023"
  timeout                        = 29

  tracing_config {
    mode = (local.traced ? "Active" : "PassThrough")
  }

  dynamic "vpc_config" {
    for_each = local.in_vpc ? [1] : []
    content {
      security_group_ids = var.security_group_ids
      subnet_ids         = var.subnet_ids
    }
  }
  filename         = local.zips["api"]
  publish          = true
  source_code_hash = filebase64sha256(local.zips["api"])
  depends_on       = [aws_iam_role_policy.api_role_api, aws_iam_role_policy_attachment.api_role_traced, aws_iam_role_policy_attachment.api_role_has_key, aws_iam_role_policy_attachment.api_role_in_vpc]
}

resource "aws_lambda_alias" "api_function_aliaslive" {
  function_name    = aws_lambda_function.api_function.function_name
  function_version = aws_lambda_function.api_function.version
  name             = "live"
}

resource "aws_apigatewayv2_integration" "api_integration" {
  api_id                 = aws_apigatewayv2_api.http_api.id
  integration_type       = "AWS_PROXY"
  integration_uri        = aws_lambda_alias.api_function_aliaslive.arn
  payload_format_version = "2.0"
  timeout_milliseconds   = 30000
}

resource "aws_cloudwatch_log_group" "api_log_group" {
  kms_key_id        = (local.has_key ? var.kms_key_arn : null)
  name              = "/aws/lambda/${var.name}/api"
  retention_in_days = var.log_retention_days
}

resource "aws_lambda_permission" "api_permission" {
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.api_function.function_name
  principal     = "apigateway.amazonaws.com"
  qualifier     = "live"
  source_arn    = "arn:${data.aws_partition.current.partition}:execute-api:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:${aws_apigatewayv2_api.http_api.id}/*"
}

resource "aws_iam_role" "api_role" {
  name_prefix = "${var.name}-ApiRole-"
  assume_role_policy = jsonencode({
    "Statement" = [
      {
        "Action"    = "sts:AssumeRole"
        "Effect"    = "Allow"
        "Principal" = { "Service" = "lambda.amazonaws.com" }
      },
    ]
    "Version" = "2012-10-17"
  })
  permissions_boundary = (local.has_boundary ? var.permissions_boundary_arn : null)
}

resource "aws_iam_role_policy" "api_role_api" {
  policy = jsonencode({
    "Statement" = [
      {
        "Action"   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        "Effect"   = "Allow"
        "Resource" = "${aws_cloudwatch_log_group.api_log_group.arn}:*"
      },
      {
        "Action"   = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}"
      },
      {
        "Action"   = ["dynamodb:Query"]
        "Effect"   = "Allow"
        "Resource" = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}/index/list", "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}/index/approvals"]
      },
      {
        "Action"   = ["sqs:SendMessage"]
        "Effect"   = "Allow"
        "Resource" = [aws_sqs_queue.wake_queue.arn, aws_sqs_queue.notify_queue.arn]
      },
    ]
    "Version" = "2012-10-17"
  })
  name = "api"
  role = aws_iam_role.api_role.name
}

resource "aws_iam_role_policy_attachment" "api_role_traced" {
  count      = local.traced ? 1 : 0
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/AWSXRayDaemonWriteAccess"
  role       = aws_iam_role.api_role.name
}

resource "aws_iam_role_policy_attachment" "api_role_has_key" {
  count      = local.has_key ? 1 : 0
  policy_arn = aws_iam_policy.key_policy[0].arn
  role       = aws_iam_role.api_role.name
}

resource "aws_iam_role_policy_attachment" "api_role_in_vpc" {
  count      = local.in_vpc ? 1 : 0
  policy_arn = aws_iam_policy.vpc_policy[0].arn
  role       = aws_iam_role.api_role.name
}

resource "aws_cloudwatch_metric_alarm" "api_throttles_alarm" {
  alarm_name          = "${var.name}-ApiThrottlesAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Calls of ApiFunction are throttled, because its own or the account's concurrency is used up."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "FunctionName" = aws_lambda_function.api_function.function_name }
  evaluation_periods  = 5
  metric_name         = "Throttles"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_apigatewayv2_route" "ask_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/asks"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "begin_sign_in_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /v1/approvals/{token}/sign-in"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_budgets_budget" "budget" {
  count        = local.has_budget ? 1 : 0
  name         = "${var.name}-Budget"
  budget_type  = "COST"
  limit_amount = var.monthly_budget
  limit_unit   = "USD"

  notification {
    comparison_operator        = "GREATER_THAN"
    notification_type          = "ACTUAL"
    subscriber_email_addresses = [for e in [(local.has_topic ? null : var.alarm_email)] : e if e != null]
    subscriber_sns_topic_arns  = [for e in [(local.has_topic ? var.alarm_topic_arn : null)] : e if e != null]
    threshold                  = 80
    threshold_type             = "PERCENTAGE"
  }

  notification {
    comparison_operator        = "GREATER_THAN"
    notification_type          = "FORECASTED"
    subscriber_email_addresses = [for e in [(local.has_topic ? null : var.alarm_email)] : e if e != null]
    subscriber_sns_topic_arns  = [for e in [(local.has_topic ? var.alarm_topic_arn : null)] : e if e != null]
    threshold                  = 100
    threshold_type             = "PERCENTAGE"
  }
  time_unit = "MONTHLY"
}

resource "aws_apigatewayv2_route" "cancel_ask_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/asks/{id}/cancel"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "cancel_run_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/runs/{id}/cancel"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "change_webhook_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "PATCH /v1/webhooks/{id}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "close_mcp_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "DELETE /mcp"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "connect_ag_ui_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /ag-ui/{agent}/connect"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "connect_copilot_kit_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /copilotkit/agent/{agent}/connect"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_cloudwatch_metric_alarm" "console_canary_alarm" {
  count               = local.has_console ? 1 : 0
  alarm_name          = "${var.name}-ConsoleCanaryAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The newest version of ConsoleFunction crashed or timed out. During a rollout this alarm rolls it back."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions = {
    "ExecutedVersion" = aws_lambda_function.console_function[0].version
    "FunctionName"    = aws_lambda_function.console_function[0].function_name
    "Resource"        = "${aws_lambda_function.console_function[0].function_name}:live"
  }
  evaluation_periods = 1
  metric_name        = "Errors"
  namespace          = "AWS/Lambda"
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period             = 60
  statistic          = "Sum"
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "console_errors_alarm" {
  count               = local.has_console ? 1 : 0
  alarm_name          = "${var.name}-ConsoleErrorsAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "ConsoleFunction crashed or timed out."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "FunctionName" = aws_lambda_function.console_function[0].function_name }
  evaluation_periods  = 1
  metric_name         = "Errors"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_lambda_function" "console_function" {
  count         = local.has_console ? 1 : 0
  function_name = "${var.name}-ConsoleFunction"
  architectures = ["arm64"]

  environment {
    variables = {
      "DORMOUSE_AUTH"             = var.auth
      "DORMOUSE_LIVE_TEXT"        = var.live_text
      "DORMOUSE_NOTIFY_QUEUE_URL" = aws_sqs_queue.notify_queue.url
      "DORMOUSE_OIDC_CLIENT_ID"   = var.sign_in_client_id
      "DORMOUSE_OIDC_ISSUER"      = var.sign_in_issuer
      "DORMOUSE_OIDC_ROLES"       = var.sign_in_roles
      "DORMOUSE_POLICY"           = var.policy
      "DORMOUSE_PRODUCT_NAME"     = var.product_name
      "DORMOUSE_PUBLIC_URL"       = (local.has_public_url ? var.public_url : aws_apigatewayv2_api.http_api.api_endpoint)
      "DORMOUSE_RATES"            = "starts=${var.starts_per_second} decisions=${var.decisions_per_second} streams=${var.streams_per_second} held=${var.held_reads} api=${var.api_concurrency}"
      "DORMOUSE_ROLES_CLAIM"      = var.roles_claim
      "DORMOUSE_SECRETS_PATH"     = var.secrets_path
      "DORMOUSE_SHARDS"           = var.shards
      "DORMOUSE_STACK"            = var.name
      "DORMOUSE_STREAM_URL"       = (local.has_streams ? aws_lambda_function_url.stream_function_url[0].function_url : "")
      "DORMOUSE_TABLE"            = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      "DORMOUSE_TENANT"           = var.tenant
      "DORMOUSE_TENANT_CLAIM"     = var.tenant_claim
      "DORMOUSE_TENANT_DAY_COST"  = var.tenant_day_cost
      "DORMOUSE_TENANT_NAMES"     = var.tenant_names
      "DORMOUSE_UNDO_SECONDS"     = var.undo_seconds
      "DORMOUSE_VERSION"          = var.app_version
      "DORMOUSE_WAKE_QUEUE_URL"   = aws_sqs_queue.wake_queue.url
    }
  }
  handler = "bootstrap"

  logging_config {
    application_log_level = var.log_level
    log_format            = "JSON"
    log_group             = aws_cloudwatch_log_group.console_log_group[0].name
  }
  memory_size = 256
  role        = aws_iam_role.console_role[0].arn
  runtime     = "provided.al2023"
  timeout     = 29

  tracing_config {
    mode = (local.traced ? "Active" : "PassThrough")
  }

  dynamic "vpc_config" {
    for_each = local.in_vpc ? [1] : []
    content {
      security_group_ids = var.security_group_ids
      subnet_ids         = var.subnet_ids
    }
  }
  filename         = local.zips["console"]
  publish          = true
  source_code_hash = filebase64sha256(local.zips["console"])
  depends_on       = [aws_iam_role_policy.console_role_console, aws_iam_role_policy_attachment.console_role_traced, aws_iam_role_policy_attachment.console_role_has_key, aws_iam_role_policy_attachment.console_role_in_vpc]
}

resource "aws_lambda_alias" "console_function_aliaslive" {
  count            = local.has_console ? 1 : 0
  function_name    = aws_lambda_function.console_function[0].function_name
  function_version = aws_lambda_function.console_function[0].version
  name             = "live"
}

resource "aws_apigatewayv2_route" "console_get_agents_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /agents"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_answered_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /answered"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_bulk_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /bulk"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_chat_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /chat"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_chat_thread_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /chat/{thread}"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_console_file_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /console/{file}"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_inbox_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_live_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /live"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_live_run_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /live/{run}"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_operate_dead_id_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /operate/dead/{id}"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_operate_dead_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /operate/dead"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_operate_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /operate"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_questions_suspension_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /questions/{suspension}"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_runs_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /runs"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_runs_run_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /runs/{run}"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_signed_in_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /signed-in"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_signin_begin_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /signin/begin"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_get_signin_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /signin"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_integration" "console_integration" {
  count                  = local.has_console ? 1 : 0
  api_id                 = aws_apigatewayv2_api.http_api.id
  integration_type       = "AWS_PROXY"
  integration_uri        = aws_lambda_alias.console_function_aliaslive[0].arn
  payload_format_version = "2.0"
  timeout_milliseconds   = 30000
}

resource "aws_cloudwatch_log_group" "console_log_group" {
  count             = local.has_console ? 1 : 0
  kms_key_id        = (local.has_key ? var.kms_key_arn : null)
  name              = "/aws/lambda/${var.name}/console"
  retention_in_days = var.log_retention_days
}

resource "aws_lambda_permission" "console_permission" {
  count         = local.has_console ? 1 : 0
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.console_function[0].function_name
  principal     = "apigateway.amazonaws.com"
  qualifier     = "live"
  source_arn    = "arn:${data.aws_partition.current.partition}:execute-api:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:${aws_apigatewayv2_api.http_api.id}/*"
}

resource "aws_apigatewayv2_route" "console_post_bulk_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "POST /bulk"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_post_chat_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "POST /chat"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_post_chat_thread_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "POST /chat/{thread}"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_post_operate_dead_id_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "POST /operate/dead/{id}"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_post_questions_suspension_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "POST /questions/{suspension}"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_post_runs_run_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "POST /runs/{run}"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_post_signin_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "POST /signin"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_apigatewayv2_route" "console_post_signout_route" {
  count              = local.has_console ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "POST /signout"
  target             = "integrations/${aws_apigatewayv2_integration.console_integration[0].id}"
}

resource "aws_iam_role" "console_role" {
  count       = local.has_console ? 1 : 0
  name_prefix = "${var.name}-ConsoleRole-"
  assume_role_policy = jsonencode({
    "Statement" = [
      {
        "Action"    = "sts:AssumeRole"
        "Effect"    = "Allow"
        "Principal" = { "Service" = "lambda.amazonaws.com" }
      },
    ]
    "Version" = "2012-10-17"
  })
  permissions_boundary = (local.has_boundary ? var.permissions_boundary_arn : null)
}

resource "aws_iam_role_policy" "console_role_console" {
  count = local.has_console ? 1 : 0
  policy = jsonencode({
    "Statement" = [for e in [
      {
        "Action"   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        "Effect"   = "Allow"
        "Resource" = "${aws_cloudwatch_log_group.console_log_group[0].arn}:*"
      },
      {
        "Action"   = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}"
      },
      {
        "Action"   = ["dynamodb:Query"]
        "Effect"   = "Allow"
        "Resource" = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}/index/list", "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}/index/approvals"]
      },
      {
        "Action"   = ["sqs:SendMessage"]
        "Effect"   = "Allow"
        "Resource" = [aws_sqs_queue.wake_queue.arn, aws_sqs_queue.notify_queue.arn]
      },
      (local.reads_secrets ? {
        "Action"   = ["ssm:GetParameter"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter${var.secrets_path}OIDC_CLIENT_SECRET"
      } : null),
      (local.has_secrets_key ? {
        "Action"    = ["kms:Decrypt"]
        "Condition" = { "StringEquals" = { "kms:ViaService" = "ssm.${data.aws_region.current.region}.amazonaws.com" } }
        "Effect"    = "Allow"
        "Resource"  = var.secrets_key_arn
      } : null),
    ] : e if e != null]
    "Version" = "2012-10-17"
  })
  name = "console"
  role = aws_iam_role.console_role[0].name
}

resource "aws_iam_role_policy_attachment" "console_role_traced" {
  count      = local.has_console && local.traced ? 1 : 0
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/AWSXRayDaemonWriteAccess"
  role       = aws_iam_role.console_role[0].name
}

resource "aws_iam_role_policy_attachment" "console_role_has_key" {
  count      = local.has_console && local.has_key ? 1 : 0
  policy_arn = aws_iam_policy.key_policy[0].arn
  role       = aws_iam_role.console_role[0].name
}

resource "aws_iam_role_policy_attachment" "console_role_in_vpc" {
  count      = local.has_console && local.in_vpc ? 1 : 0
  policy_arn = aws_iam_policy.vpc_policy[0].arn
  role       = aws_iam_role.console_role[0].name
}

resource "aws_cloudwatch_metric_alarm" "console_throttles_alarm" {
  count               = local.has_console ? 1 : 0
  alarm_name          = "${var.name}-ConsoleThrottlesAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Calls of ConsoleFunction are throttled, because its own or the account's concurrency is used up."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "FunctionName" = aws_lambda_function.console_function[0].function_name }
  evaluation_periods  = 5
  metric_name         = "Throttles"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_apigatewayv2_route" "continue_ai_sdk_workflow_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /ai-sdk/{agent}/workflow/{run}/stream"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_cloudwatch_dashboard" "dashboard" {
  dashboard_body = <<EOT
{"widgets": [
  {"type": "metric", "x": 0, "y": 0, "width": 8, "height": 6, "properties": {"title": "Steps", "region": "${data.aws_region.current.region}", "stat": "Sum", "period": 60, "metrics": [
    ["Dormouse", "Steps", "Stack", "${var.name}"],
    ["Dormouse", "StepErrors", "Stack", "${var.name}"],
    ["Dormouse", "ClaimsLost", "Stack", "${var.name}"],
    ["Dormouse", "EmptySteps", "Stack", "${var.name}"],
    ["Dormouse", "Takeovers", "Stack", "${var.name}"]]}},
  {"type": "metric", "x": 8, "y": 0, "width": 8, "height": 6, "properties": {"title": "Runs", "region": "${data.aws_region.current.region}", "stat": "Sum", "period": 60, "metrics": [
    ["Dormouse", "RunsStarted", "Stack", "${var.name}"],
    ["Dormouse", "RunsDone", "Stack", "${var.name}"],
    ["Dormouse", "RunsFailed", "Stack", "${var.name}"],
    ["Dormouse", "Waits", "Stack", "${var.name}"]]}},
  {"type": "metric", "x": 16, "y": 0, "width": 8, "height": 6, "properties": {"title": "Age of the oldest due work, seconds", "region": "${data.aws_region.current.region}", "stat": "Maximum", "period": 60, "metrics": [
    ["Dormouse", "OldestDueSeconds", "Stack", "${var.name}"]]}},
  {"type": "metric", "x": 0, "y": 6, "width": 8, "height": 6, "properties": {"title": "Visible messages", "region": "${data.aws_region.current.region}", "stat": "Maximum", "period": 60, "metrics": [
    ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "${aws_sqs_queue.wake_queue.name}", {"label": "WakeQueue"}],
    ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "${aws_sqs_queue.notify_queue.name}", {"label": "NotifyQueue"}],
    ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "${aws_sqs_queue.intake_queue.name}", {"label": "IntakeQueue"}],
    ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "${aws_sqs_queue.wake_dead_queue.name}", {"label": "WakeDeadQueue"}],
    ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "${aws_sqs_queue.notify_dead_queue.name}", {"label": "NotifyDeadQueue"}],
    ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "${aws_sqs_queue.intake_dead_queue.name}", {"label": "IntakeDeadQueue"}],
    ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "${aws_sqs_queue.sweep_dead_queue.name}", {"label": "SweepDeadQueue"}]]}},
  {"type": "metric", "x": 8, "y": 6, "width": 8, "height": 6, "properties": {"title": "Age of the oldest message", "region": "${data.aws_region.current.region}", "stat": "Maximum", "period": 60, "metrics": [
    ["AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", "${aws_sqs_queue.wake_queue.name}", {"label": "WakeQueue"}],
    ["AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", "${aws_sqs_queue.notify_queue.name}", {"label": "NotifyQueue"}],
    ["AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", "${aws_sqs_queue.intake_queue.name}", {"label": "IntakeQueue"}]]}},
  {"type": "metric", "x": 16, "y": 6, "width": 8, "height": 6, "properties": {"title": "Tokens", "region": "${data.aws_region.current.region}", "stat": "Sum", "period": 60, "metrics": [
    ["Dormouse", "InputTokens", "Stack", "${var.name}"],
    ["Dormouse", "OutputTokens", "Stack", "${var.name}"]]}},
  {"type": "metric", "x": 0, "y": 12, "width": 8, "height": 6, "properties": {"title": "Functions: milliseconds, 95th percentile", "region": "${data.aws_region.current.region}", "stat": "p95", "period": 60, "metrics": [
    ["AWS/Lambda", "Duration", "FunctionName", "${aws_lambda_function.api_function.function_name}", {"label": "api"}],
    ["AWS/Lambda", "Duration", "FunctionName", "${aws_lambda_function.decision_function.function_name}", {"label": "decision"}],
    ["AWS/Lambda", "Duration", "FunctionName", "${aws_lambda_function.hook_function.function_name}", {"label": "hook"}],
    ["AWS/Lambda", "Duration", "FunctionName", "${(local.has_streams ? aws_lambda_function.stream_function[0].function_name : "-")}", {"label": "stream"}],
    ["AWS/Lambda", "Duration", "FunctionName", "${aws_lambda_function.step_function.function_name}", {"label": "step"}],
    ["AWS/Lambda", "Duration", "FunctionName", "${aws_lambda_function.intake_function.function_name}", {"label": "intake"}],
    ["AWS/Lambda", "Duration", "FunctionName", "${aws_lambda_function.notify_function.function_name}", {"label": "notify"}],
    ["AWS/Lambda", "Duration", "FunctionName", "${aws_lambda_function.sweep_function.function_name}", {"label": "sweep"}]]}},
  {"type": "metric", "x": 8, "y": 12, "width": 8, "height": 6, "properties": {"title": "Functions: concurrency", "region": "${data.aws_region.current.region}", "stat": "Maximum", "period": 60, "metrics": [
    ["AWS/Lambda", "ConcurrentExecutions", "FunctionName", "${aws_lambda_function.api_function.function_name}", {"label": "api"}],
    ["AWS/Lambda", "ConcurrentExecutions", "FunctionName", "${aws_lambda_function.decision_function.function_name}", {"label": "decision"}],
    ["AWS/Lambda", "ConcurrentExecutions", "FunctionName", "${aws_lambda_function.hook_function.function_name}", {"label": "hook"}],
    ["AWS/Lambda", "ConcurrentExecutions", "FunctionName", "${(local.has_streams ? aws_lambda_function.stream_function[0].function_name : "-")}", {"label": "stream"}],
    ["AWS/Lambda", "ConcurrentExecutions", "FunctionName", "${aws_lambda_function.step_function.function_name}", {"label": "step"}],
    ["AWS/Lambda", "ConcurrentExecutions", "FunctionName", "${aws_lambda_function.intake_function.function_name}", {"label": "intake"}],
    ["AWS/Lambda", "ConcurrentExecutions", "FunctionName", "${aws_lambda_function.notify_function.function_name}", {"label": "notify"}],
    ["AWS/Lambda", "ConcurrentExecutions", "FunctionName", "${aws_lambda_function.sweep_function.function_name}", {"label": "sweep"}]]}},
  {"type": "metric", "x": 16, "y": 12, "width": 8, "height": 6, "properties": {"title": "Functions: errors and throttles", "region": "${data.aws_region.current.region}", "stat": "Sum", "period": 60, "metrics": [
    ["AWS/Lambda", "Errors", "FunctionName", "${aws_lambda_function.api_function.function_name}", {"label": "api"}],
    ["AWS/Lambda", "Errors", "FunctionName", "${aws_lambda_function.decision_function.function_name}", {"label": "decision"}],
    ["AWS/Lambda", "Errors", "FunctionName", "${aws_lambda_function.hook_function.function_name}", {"label": "hook"}],
    ["AWS/Lambda", "Errors", "FunctionName", "${(local.has_streams ? aws_lambda_function.stream_function[0].function_name : "-")}", {"label": "stream"}],
    ["AWS/Lambda", "Errors", "FunctionName", "${aws_lambda_function.step_function.function_name}", {"label": "step"}],
    ["AWS/Lambda", "Errors", "FunctionName", "${aws_lambda_function.intake_function.function_name}", {"label": "intake"}],
    ["AWS/Lambda", "Errors", "FunctionName", "${aws_lambda_function.notify_function.function_name}", {"label": "notify"}],
    ["AWS/Lambda", "Errors", "FunctionName", "${aws_lambda_function.sweep_function.function_name}", {"label": "sweep"}],
    ["AWS/Lambda", "Throttles", "FunctionName", "${aws_lambda_function.api_function.function_name}", {"label": "api"}],
    ["AWS/Lambda", "Throttles", "FunctionName", "${aws_lambda_function.decision_function.function_name}", {"label": "decision"}],
    ["AWS/Lambda", "Throttles", "FunctionName", "${aws_lambda_function.hook_function.function_name}", {"label": "hook"}],
    ["AWS/Lambda", "Throttles", "FunctionName", "${(local.has_streams ? aws_lambda_function.stream_function[0].function_name : "-")}", {"label": "stream"}],
    ["AWS/Lambda", "Throttles", "FunctionName", "${aws_lambda_function.step_function.function_name}", {"label": "step"}],
    ["AWS/Lambda", "Throttles", "FunctionName", "${aws_lambda_function.intake_function.function_name}", {"label": "intake"}],
    ["AWS/Lambda", "Throttles", "FunctionName", "${aws_lambda_function.notify_function.function_name}", {"label": "notify"}],
    ["AWS/Lambda", "Throttles", "FunctionName", "${aws_lambda_function.sweep_function.function_name}", {"label": "sweep"}]]}},
  {"type": "metric", "x": 0, "y": 18, "width": 8, "height": 6, "properties": {"title": "Table: units", "region": "${data.aws_region.current.region}", "stat": "Sum", "period": 60, "metrics": [
    ["AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", "${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}"],
    ["AWS/DynamoDB", "ConsumedReadCapacityUnits", "TableName", "${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}"]]}},
  {"type": "metric", "x": 8, "y": 18, "width": 8, "height": 6, "properties": {"title": "HTTP: requests", "region": "${data.aws_region.current.region}", "stat": "Sum", "period": 60, "metrics": [
    ["AWS/ApiGateway", "Count", "ApiId", "${aws_apigatewayv2_api.http_api.id}"],
    ["AWS/ApiGateway", "4xx", "ApiId", "${aws_apigatewayv2_api.http_api.id}"],
    ["AWS/ApiGateway", "5xx", "ApiId", "${aws_apigatewayv2_api.http_api.id}"]]}},
  {"type": "metric", "x": 16, "y": 18, "width": 8, "height": 6, "properties": {"title": "HTTP: milliseconds, 95th percentile", "region": "${data.aws_region.current.region}", "stat": "p95", "period": 60, "metrics": [
    ["AWS/ApiGateway", "Latency", "ApiId", "${aws_apigatewayv2_api.http_api.id}"]]}},
  {"type": "metric", "x": 0, "y": 24, "width": 8, "height": 6, "properties": {"title": "Notices", "region": "${data.aws_region.current.region}", "stat": "Sum", "period": 60, "metrics": [
    ["Dormouse", "NoticesDelivered", "Stack", "${var.name}"],
    ["Dormouse", "NoticeFailures", "Stack", "${var.name}"],
    ["Dormouse", "NoticesDead", "Stack", "${var.name}"]]}},
  {"type": "metric", "x": 8, "y": 24, "width": 8, "height": 6, "properties": {"title": "Waiting for a step: seconds, 95th percentile", "region": "${data.aws_region.current.region}", "stat": "p95", "period": 60, "metrics": [
    ["Dormouse", "WakeLagSeconds", "Stack", "${var.name}"],
    ["Dormouse", "DecisionToStepSeconds", "Stack", "${var.name}"]]}}
]}
EOT

  dashboard_name = "${var.name}-${data.aws_region.current.region}"
}

resource "aws_apigatewayv2_route" "decide_bulk_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/decisions"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_apigatewayv2_route" "decide_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/runs/{id}/decisions"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_cloudwatch_metric_alarm" "decision_canary_alarm" {
  alarm_name          = "${var.name}-DecisionCanaryAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The newest version of DecisionFunction crashed or timed out. During a rollout this alarm rolls it back."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions = {
    "ExecutedVersion" = aws_lambda_function.decision_function.version
    "FunctionName"    = aws_lambda_function.decision_function.function_name
    "Resource"        = "${aws_lambda_function.decision_function.function_name}:live"
  }
  evaluation_periods = 1
  metric_name        = "Errors"
  namespace          = "AWS/Lambda"
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period             = 60
  statistic          = "Sum"
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "decision_errors_alarm" {
  alarm_name          = "${var.name}-DecisionErrorsAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "DecisionFunction crashed or timed out."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "FunctionName" = aws_lambda_function.decision_function.function_name }
  evaluation_periods  = 1
  metric_name         = "Errors"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "decision_failing_alarm" {
  alarm_name          = "${var.name}-DecisionFailingAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "More than a tenth of the answers of the newest version of DecisionFunction are 5xx. During a rollout this alarm rolls it back."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 2
  evaluation_periods  = 3

  metric_query {
    expression  = "IF(FILL(failed, 0) * 10 > invoked, 1, 0)"
    id          = "share"
    return_data = true
  }

  metric_query {
    id = "failed"

    metric {
      dimensions = {
        "Function" = aws_lambda_function.decision_function.function_name
        "Stack"    = var.name
        "Version"  = aws_lambda_function.decision_function.version
      }
      metric_name = "ServerErrors"
      namespace   = "Dormouse"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }

  metric_query {
    id = "invoked"

    metric {
      dimensions = {
        "ExecutedVersion" = aws_lambda_function.decision_function.version
        "FunctionName"    = aws_lambda_function.decision_function.function_name
        "Resource"        = "${aws_lambda_function.decision_function.function_name}:live"
      }
      metric_name = "Invocations"
      namespace   = "AWS/Lambda"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_lambda_function" "decision_function" {
  function_name = "${var.name}-DecisionFunction"
  architectures = ["arm64"]

  environment {
    variables = {
      "DORMOUSE_AUTH"             = var.auth
      "DORMOUSE_IAM_ROLES"        = var.iam_roles
      "DORMOUSE_NOTICE_MAIL_FROM" = var.notice_mail_from
      "DORMOUSE_NOTIFY_QUEUE_URL" = aws_sqs_queue.notify_queue.url
      "DORMOUSE_OIDC_CLIENT_ID"   = var.sign_in_client_id
      "DORMOUSE_OIDC_ISSUER"      = var.sign_in_issuer
      "DORMOUSE_ORIGINS"          = join(",", var.origins)
      "DORMOUSE_POLICY"           = var.policy
      "DORMOUSE_PRODUCT_NAME"     = var.product_name
      "DORMOUSE_PUBLIC_URL"       = (local.has_public_url ? var.public_url : aws_apigatewayv2_api.http_api.api_endpoint)
      "DORMOUSE_RATES"            = "starts=${var.starts_per_second} decisions=${var.decisions_per_second} streams=${var.streams_per_second} held=${var.held_reads} api=${var.api_concurrency}"
      "DORMOUSE_ROLES_CLAIM"      = var.roles_claim
      "DORMOUSE_SECRETS_PATH"     = var.secrets_path
      "DORMOUSE_SHARDS"           = var.shards
      "DORMOUSE_STACK"            = var.name
      "DORMOUSE_TABLE"            = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      "DORMOUSE_TENANT"           = var.tenant
      "DORMOUSE_TENANT_CLAIM"     = var.tenant_claim
      "DORMOUSE_TENANT_NAMES"     = var.tenant_names
      "DORMOUSE_UNDO_SECONDS"     = var.undo_seconds
      "DORMOUSE_VERSION"          = var.app_version
      "DORMOUSE_WAKE_QUEUE_URL"   = aws_sqs_queue.wake_queue.url
    }
  }
  handler = "bootstrap"

  logging_config {
    application_log_level = var.log_level
    log_format            = "JSON"
    log_group             = aws_cloudwatch_log_group.decision_log_group.name
  }
  memory_size                    = 512
  reserved_concurrent_executions = (local.reserves_decisions ? var.decision_concurrency : null)
  role                           = aws_iam_role.decision_role.arn
  runtime                        = "provided.al2023"
  timeout                        = 29

  tracing_config {
    mode = (local.traced ? "Active" : "PassThrough")
  }

  dynamic "vpc_config" {
    for_each = local.in_vpc ? [1] : []
    content {
      security_group_ids = var.security_group_ids
      subnet_ids         = var.subnet_ids
    }
  }
  filename         = local.zips["decision"]
  publish          = true
  source_code_hash = filebase64sha256(local.zips["decision"])
  depends_on       = [aws_iam_role_policy.decision_role_decision, aws_iam_role_policy_attachment.decision_role_traced, aws_iam_role_policy_attachment.decision_role_has_key, aws_iam_role_policy_attachment.decision_role_in_vpc]
}

resource "aws_lambda_alias" "decision_function_aliaslive" {
  function_name    = aws_lambda_function.decision_function.function_name
  function_version = aws_lambda_function.decision_function.version
  name             = "live"
}

resource "aws_apigatewayv2_integration" "decision_integration" {
  api_id                 = aws_apigatewayv2_api.http_api.id
  integration_type       = "AWS_PROXY"
  integration_uri        = aws_lambda_alias.decision_function_aliaslive.arn
  payload_format_version = "2.0"
  timeout_milliseconds   = 30000
}

resource "aws_cloudwatch_log_group" "decision_log_group" {
  kms_key_id        = (local.has_key ? var.kms_key_arn : null)
  name              = "/aws/lambda/${var.name}/decision"
  retention_in_days = var.log_retention_days
}

resource "aws_lambda_permission" "decision_permission" {
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.decision_function.function_name
  principal     = "apigateway.amazonaws.com"
  qualifier     = "live"
  source_arn    = "arn:${data.aws_partition.current.partition}:execute-api:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:${aws_apigatewayv2_api.http_api.id}/*"
}

resource "aws_iam_role" "decision_role" {
  name_prefix = "${var.name}-DecisionRole-"
  assume_role_policy = jsonencode({
    "Statement" = [
      {
        "Action"    = "sts:AssumeRole"
        "Effect"    = "Allow"
        "Principal" = { "Service" = "lambda.amazonaws.com" }
      },
    ]
    "Version" = "2012-10-17"
  })
  permissions_boundary = (local.has_boundary ? var.permissions_boundary_arn : null)
}

resource "aws_iam_role_policy" "decision_role_decision" {
  policy = jsonencode({
    "Statement" = [for e in [
      {
        "Action"   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        "Effect"   = "Allow"
        "Resource" = "${aws_cloudwatch_log_group.decision_log_group.arn}:*"
      },
      {
        "Action"   = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}"
      },
      {
        "Action"   = ["dynamodb:Query"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}/index/approvals"
      },
      {
        "Action"   = ["sqs:SendMessage"]
        "Effect"   = "Allow"
        "Resource" = aws_sqs_queue.wake_queue.arn
      },
      (local.reads_secrets ? {
        "Action"   = ["ssm:GetParameter"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter${var.secrets_path}OIDC_CLIENT_SECRET"
      } : null),
      (local.has_secrets_key ? {
        "Action"    = ["kms:Decrypt"]
        "Condition" = { "StringEquals" = { "kms:ViaService" = "ssm.${data.aws_region.current.region}.amazonaws.com" } }
        "Effect"    = "Allow"
        "Resource"  = var.secrets_key_arn
      } : null),
      (local.sends_mail ? {
        "Action"    = ["ses:SendEmail"]
        "Condition" = { "StringEquals" = { "ses:FromAddress" = var.notice_mail_from } }
        "Effect"    = "Allow"
        "Resource"  = "arn:${data.aws_partition.current.partition}:ses:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:identity/${var.notice_mail_identity}"
      } : null),
    ] : e if e != null]
    "Version" = "2012-10-17"
  })
  name = "decision"
  role = aws_iam_role.decision_role.name
}

resource "aws_iam_role_policy_attachment" "decision_role_traced" {
  count      = local.traced ? 1 : 0
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/AWSXRayDaemonWriteAccess"
  role       = aws_iam_role.decision_role.name
}

resource "aws_iam_role_policy_attachment" "decision_role_has_key" {
  count      = local.has_key ? 1 : 0
  policy_arn = aws_iam_policy.key_policy[0].arn
  role       = aws_iam_role.decision_role.name
}

resource "aws_iam_role_policy_attachment" "decision_role_in_vpc" {
  count      = local.in_vpc ? 1 : 0
  policy_arn = aws_iam_policy.vpc_policy[0].arn
  role       = aws_iam_role.decision_role.name
}

resource "aws_cloudwatch_metric_alarm" "decision_throttles_alarm" {
  alarm_name          = "${var.name}-DecisionThrottlesAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Calls of DecisionFunction are throttled, because its own or the account's concurrency is used up."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "FunctionName" = aws_lambda_function.decision_function.function_name }
  evaluation_periods  = 5
  metric_name         = "Throttles"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "decision_to_step_alarm" {
  alarm_name          = "${var.name}-DecisionToStepAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "One decision in twenty waits for more than a minute until a step takes it up."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "Stack" = var.name }
  evaluation_periods  = 3
  extended_statistic  = "p95"
  metric_name         = "DecisionToStepSeconds"
  namespace           = "Dormouse"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  threshold           = 60
  treat_missing_data  = "notBreaching"
}

resource "aws_apigatewayv2_route" "disable_endpoint_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/webhooks/disable"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "enable_endpoint_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/webhooks/enable"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "find_thread_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/threads"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "finish_sign_in_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /v1/signed-in"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_apigatewayv2_route" "forget_delivery_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "DELETE /v1/webhooks/deliveries/{id}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "health_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /healthz"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_cloudwatch_metric_alarm" "hook_canary_alarm" {
  alarm_name          = "${var.name}-HookCanaryAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The newest version of HookFunction crashed or timed out. During a rollout this alarm rolls it back."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions = {
    "ExecutedVersion" = aws_lambda_function.hook_function.version
    "FunctionName"    = aws_lambda_function.hook_function.function_name
    "Resource"        = "${aws_lambda_function.hook_function.function_name}:live"
  }
  evaluation_periods = 1
  metric_name        = "Errors"
  namespace          = "AWS/Lambda"
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period             = 60
  statistic          = "Sum"
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "hook_errors_alarm" {
  alarm_name          = "${var.name}-HookErrorsAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "HookFunction crashed or timed out."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "FunctionName" = aws_lambda_function.hook_function.function_name }
  evaluation_periods  = 1
  metric_name         = "Errors"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_lambda_function" "hook_function" {
  function_name = "${var.name}-HookFunction"
  architectures = ["arm64"]

  environment {
    variables = {
      "DORMOUSE_NOTIFY_QUEUE_URL" = aws_sqs_queue.notify_queue.url
      "DORMOUSE_POLICY"           = var.policy
      "DORMOUSE_RATES"            = "starts=${var.starts_per_second} decisions=${var.decisions_per_second} streams=${var.streams_per_second} held=${var.held_reads} api=${var.api_concurrency}"
      "DORMOUSE_SECRETS_PATH"     = var.secrets_path
      "DORMOUSE_SHARDS"           = var.shards
      "DORMOUSE_STACK"            = var.name
      "DORMOUSE_TABLE"            = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      "DORMOUSE_TENANT_DAY_COST"  = var.tenant_day_cost
      "DORMOUSE_VERSION"          = var.app_version
      "DORMOUSE_WAKE_QUEUE_URL"   = aws_sqs_queue.wake_queue.url
    }
  }
  handler = "bootstrap"

  logging_config {
    application_log_level = var.log_level
    log_format            = "JSON"
    log_group             = aws_cloudwatch_log_group.hook_log_group.name
  }
  memory_size = 512
  role        = aws_iam_role.hook_role.arn
  runtime     = "provided.al2023"
  timeout     = 29

  tracing_config {
    mode = (local.traced ? "Active" : "PassThrough")
  }

  dynamic "vpc_config" {
    for_each = local.in_vpc ? [1] : []
    content {
      security_group_ids = var.security_group_ids
      subnet_ids         = var.subnet_ids
    }
  }
  filename         = local.zips["hook"]
  publish          = true
  source_code_hash = filebase64sha256(local.zips["hook"])
  depends_on       = [aws_iam_role_policy.hook_role_hook, aws_iam_role_policy_attachment.hook_role_traced, aws_iam_role_policy_attachment.hook_role_has_key, aws_iam_role_policy_attachment.hook_role_in_vpc]
}

resource "aws_lambda_alias" "hook_function_aliaslive" {
  function_name    = aws_lambda_function.hook_function.function_name
  function_version = aws_lambda_function.hook_function.version
  name             = "live"
}

resource "aws_apigatewayv2_integration" "hook_integration" {
  api_id                 = aws_apigatewayv2_api.http_api.id
  integration_type       = "AWS_PROXY"
  integration_uri        = aws_lambda_alias.hook_function_aliaslive.arn
  payload_format_version = "2.0"
  timeout_milliseconds   = 30000
}

resource "aws_cloudwatch_log_group" "hook_log_group" {
  kms_key_id        = (local.has_key ? var.kms_key_arn : null)
  name              = "/aws/lambda/${var.name}/hook"
  retention_in_days = var.log_retention_days
}

resource "aws_lambda_permission" "hook_permission" {
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.hook_function.function_name
  principal     = "apigateway.amazonaws.com"
  qualifier     = "live"
  source_arn    = "arn:${data.aws_partition.current.partition}:execute-api:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:${aws_apigatewayv2_api.http_api.id}/*"
}

resource "aws_iam_role" "hook_role" {
  name_prefix = "${var.name}-HookRole-"
  assume_role_policy = jsonencode({
    "Statement" = [
      {
        "Action"    = "sts:AssumeRole"
        "Effect"    = "Allow"
        "Principal" = { "Service" = "lambda.amazonaws.com" }
      },
    ]
    "Version" = "2012-10-17"
  })
  permissions_boundary = (local.has_boundary ? var.permissions_boundary_arn : null)
}

resource "aws_iam_role_policy" "hook_role_hook" {
  policy = jsonencode({
    "Statement" = [for e in [
      {
        "Action"   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        "Effect"   = "Allow"
        "Resource" = "${aws_cloudwatch_log_group.hook_log_group.arn}:*"
      },
      {
        "Action"   = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}"
      },
      {
        "Action"   = ["dynamodb:Query"]
        "Effect"   = "Allow"
        "Resource" = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}/index/list", "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}/index/approvals"]
      },
      {
        "Action"   = ["sqs:SendMessage"]
        "Effect"   = "Allow"
        "Resource" = aws_sqs_queue.wake_queue.arn
      },
      (local.reads_secrets ? {
        "Action"   = ["ssm:GetParameter"]
        "Effect"   = "Allow"
        "Resource" = ["arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter${var.secrets_path}HOOK_*", "arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter${var.secrets_path}SLACK_*"]
      } : null),
      (local.has_secrets_key ? {
        "Action"    = ["kms:Decrypt"]
        "Condition" = { "StringEquals" = { "kms:ViaService" = "ssm.${data.aws_region.current.region}.amazonaws.com" } }
        "Effect"    = "Allow"
        "Resource"  = var.secrets_key_arn
      } : null),
    ] : e if e != null]
    "Version" = "2012-10-17"
  })
  name = "hook"
  role = aws_iam_role.hook_role.name
}

resource "aws_iam_role_policy_attachment" "hook_role_traced" {
  count      = local.traced ? 1 : 0
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/AWSXRayDaemonWriteAccess"
  role       = aws_iam_role.hook_role.name
}

resource "aws_iam_role_policy_attachment" "hook_role_has_key" {
  count      = local.has_key ? 1 : 0
  policy_arn = aws_iam_policy.key_policy[0].arn
  role       = aws_iam_role.hook_role.name
}

resource "aws_iam_role_policy_attachment" "hook_role_in_vpc" {
  count      = local.in_vpc ? 1 : 0
  policy_arn = aws_iam_policy.vpc_policy[0].arn
  role       = aws_iam_role.hook_role.name
}

resource "aws_cloudwatch_metric_alarm" "hook_throttles_alarm" {
  alarm_name          = "${var.name}-HookThrottlesAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Calls of HookFunction are throttled, because its own or the account's concurrency is used up."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "FunctionName" = aws_lambda_function.hook_function.function_name }
  evaluation_periods  = 5
  metric_name         = "Throttles"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_apigatewayv2_api" "http_api" {

  dynamic "cors_configuration" {
    for_each = local.has_origins ? [1] : []
    content {
      allow_headers  = ["a2a-extensions", "a2a-version", "authorization", "content-type", "idempotency-key", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "prefer", "x-ai-sdk-version", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"]
      allow_methods  = ["GET", "POST", "PATCH", "DELETE"]
      allow_origins  = var.origins
      expose_headers = ["location", "preference-applied", "retry-after", "www-authenticate", "x-error-code", "x-workflow-run-id"]
      max_age        = 600
    }
  }
  name          = var.name
  protocol_type = "HTTP"
}

resource "aws_cloudwatch_metric_alarm" "http_errors_alarm" {
  alarm_name          = "${var.name}-HttpErrorsAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The HTTP API answers with 5xx."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "ApiId" = aws_apigatewayv2_api.http_api.id }
  evaluation_periods  = 5
  metric_name         = "5xx"
  namespace           = "AWS/ApiGateway"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_apigatewayv2_stage" "http_stage" {

  access_log_settings {
    destination_arn = aws_cloudwatch_log_group.access_log_group.arn
    format          = "{\"time\":\"$context.requestTime\",\"request_id\":\"$context.requestId\",\"route\":\"$context.routeKey\",\"status\":\"$context.status\", \"latency_ms\":\"$context.responseLatency\",\"function_ms\":\"$context.integrationLatency\",\"bytes\":\"$context.responseLength\", \"error\":\"$context.error.responseType\",\"function_status\":\"$context.integrationStatus\"}"
  }
  api_id      = aws_apigatewayv2_api.http_api.id
  auto_deploy = true

  default_route_settings {
    throttling_burst_limit = var.requests_per_second
    throttling_rate_limit  = var.requests_per_second
  }
  name = "$default"
}

resource "aws_cloudwatch_metric_alarm" "intake_age_alarm" {
  alarm_name          = "${var.name}-IntakeAgeAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The oldest message of IntakeQueue has waited too long. Requested runs do not start, or IntakeConcurrency is too low."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 5
  dimensions          = { "QueueName" = aws_sqs_queue.intake_queue.name }
  evaluation_periods  = 5
  metric_name         = "ApproximateAgeOfOldestMessage"
  namespace           = "AWS/SQS"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Maximum"
  threshold           = 1000
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "intake_busy_alarm" {
  alarm_name          = "${var.name}-IntakeBusyAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Requests on IntakeQueue have been put back for more than half an hour, because their threads are busy or the table is unreachable."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "Stack" = var.name }
  evaluation_periods  = 3
  metric_name         = "IntakeBusy"
  namespace           = "Dormouse"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 900
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "intake_canary_alarm" {
  alarm_name          = "${var.name}-IntakeCanaryAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The newest version of IntakeFunction crashed or timed out. During a rollout this alarm rolls it back."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions = {
    "ExecutedVersion" = aws_lambda_function.intake_function.version
    "FunctionName"    = aws_lambda_function.intake_function.function_name
    "Resource"        = "${aws_lambda_function.intake_function.function_name}:live"
  }
  evaluation_periods = 1
  metric_name        = "Errors"
  namespace          = "AWS/Lambda"
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period             = 60
  statistic          = "Sum"
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "intake_dead_alarm" {
  alarm_name          = "${var.name}-IntakeDeadAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "IntakeDeadQueue has messages. Each is a request that started no run."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "QueueName" = aws_sqs_queue.intake_dead_queue.name }
  evaluation_periods  = 1
  metric_name         = "ApproximateNumberOfMessagesVisible"
  namespace           = "AWS/SQS"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Maximum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_sqs_queue" "intake_dead_queue" {
  name                      = "${var.name}-IntakeDeadQueue"
  kms_master_key_id         = (local.has_key ? var.kms_key_arn : null)
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = (local.has_key ? null : true)

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_cloudwatch_metric_alarm" "intake_errors_alarm" {
  alarm_name          = "${var.name}-IntakeErrorsAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "IntakeFunction crashed or timed out."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "FunctionName" = aws_lambda_function.intake_function.function_name }
  evaluation_periods  = 1
  metric_name         = "Errors"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "intake_failing_alarm" {
  alarm_name          = "${var.name}-IntakeFailingAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "More than a tenth of the messages of the newest version of IntakeFunction fail. During a rollout this alarm rolls it back."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 2
  evaluation_periods  = 3

  metric_query {
    expression  = "IF(FILL(failed, 0) * 10 > invoked, 1, 0)"
    id          = "share"
    return_data = true
  }

  metric_query {
    id = "failed"

    metric {
      dimensions = {
        "Function" = aws_lambda_function.intake_function.function_name
        "Stack"    = var.name
        "Version"  = aws_lambda_function.intake_function.version
      }
      metric_name = "IntakeErrors"
      namespace   = "Dormouse"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }

  metric_query {
    id = "invoked"

    metric {
      dimensions = {
        "ExecutedVersion" = aws_lambda_function.intake_function.version
        "FunctionName"    = aws_lambda_function.intake_function.function_name
        "Resource"        = "${aws_lambda_function.intake_function.function_name}:live"
      }
      metric_name = "Invocations"
      namespace   = "AWS/Lambda"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_lambda_function" "intake_function" {
  function_name = "${var.name}-IntakeFunction"
  architectures = ["arm64"]

  environment {
    variables = {
      "DORMOUSE_INTAKE_AGENT"          = var.intake_agent
      "DORMOUSE_INTAKE_DEAD_QUEUE_URL" = aws_sqs_queue.intake_dead_queue.url
      "DORMOUSE_INTAKE_QUEUE_ARN"      = aws_sqs_queue.intake_queue.arn
      "DORMOUSE_INTAKE_QUEUE_URL"      = aws_sqs_queue.intake_queue.url
      "DORMOUSE_INTAKE_TENANT"         = var.intake_tenant
      "DORMOUSE_NOTIFY_QUEUE_URL"      = aws_sqs_queue.notify_queue.url
      "DORMOUSE_POLICY"                = var.policy
      "DORMOUSE_SHARDS"                = var.shards
      "DORMOUSE_STACK"                 = var.name
      "DORMOUSE_TABLE"                 = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      "DORMOUSE_TENANT_DAY_COST"       = var.tenant_day_cost
      "DORMOUSE_VERSION"               = var.app_version
      "DORMOUSE_WAKE_QUEUE_URL"        = aws_sqs_queue.wake_queue.url
    }
  }
  handler = "bootstrap"

  logging_config {
    application_log_level = var.log_level
    log_format            = "JSON"
    log_group             = aws_cloudwatch_log_group.intake_log_group.name
  }
  memory_size = 256
  role        = aws_iam_role.intake_role.arn
  runtime     = "provided.al2023"
  timeout     = 30

  tracing_config {
    mode = (local.traced ? "Active" : "PassThrough")
  }

  dynamic "vpc_config" {
    for_each = local.in_vpc ? [1] : []
    content {
      security_group_ids = var.security_group_ids
      subnet_ids         = var.subnet_ids
    }
  }
  filename         = local.zips["intake"]
  publish          = true
  source_code_hash = filebase64sha256(local.zips["intake"])
  depends_on       = [aws_iam_role_policy.intake_role_intake, aws_iam_role_policy_attachment.intake_role_traced, aws_iam_role_policy_attachment.intake_role_has_key, aws_iam_role_policy_attachment.intake_role_in_vpc]
}

resource "aws_lambda_function_recursion_config" "intake_function" {
  function_name  = aws_lambda_function.intake_function.function_name
  recursive_loop = "Allow"
}

resource "aws_lambda_alias" "intake_function_aliaslive" {
  function_name    = aws_lambda_function.intake_function.function_name
  function_version = aws_lambda_function.intake_function.version
  name             = "live"
}

resource "aws_lambda_event_source_mapping" "intake_function_intake" {
  batch_size              = 1
  event_source_arn        = aws_sqs_queue.intake_queue.arn
  function_name           = aws_lambda_alias.intake_function_aliaslive.arn
  function_response_types = ["ReportBatchItemFailures"]

  scaling_config {
    maximum_concurrency = var.intake_concurrency
  }
}

resource "aws_cloudwatch_log_group" "intake_log_group" {
  kms_key_id        = (local.has_key ? var.kms_key_arn : null)
  name              = "/aws/lambda/${var.name}/intake"
  retention_in_days = var.log_retention_days
}

resource "aws_sqs_queue" "intake_queue" {
  name                      = "${var.name}-IntakeQueue"
  kms_master_key_id         = (local.has_key ? var.kms_key_arn : null)
  message_retention_seconds = 604800
  redrive_policy = jsonencode({
    "deadLetterTargetArn" = aws_sqs_queue.intake_dead_queue.arn
    "maxReceiveCount"     = 5
  })
  sqs_managed_sse_enabled    = (local.has_key ? null : true)
  visibility_timeout_seconds = 180

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_sqs_queue_policy" "intake_queue_policy" {
  count = local.takes_events ? 1 : 0
  policy = jsonencode({
    "Statement" = [
      {
        "Action"    = "sqs:SendMessage"
        "Condition" = { "StringEquals" = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } }
        "Effect"    = "Allow"
        "Principal" = { "Service" = "s3.amazonaws.com" }
        "Resource"  = aws_sqs_queue.intake_queue.arn
      },
      {
        "Action"    = "sqs:SendMessage"
        "Condition" = { "ArnLike" = { "aws:SourceArn" = "arn:${data.aws_partition.current.partition}:events:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:rule/*" } }
        "Effect"    = "Allow"
        "Principal" = { "Service" = "events.amazonaws.com" }
        "Resource"  = aws_sqs_queue.intake_queue.arn
      },
    ]
    "Version" = "2012-10-17"
  })
  queue_url = aws_sqs_queue.intake_queue.url
}

resource "aws_iam_role" "intake_role" {
  name_prefix = "${var.name}-IntakeRole-"
  assume_role_policy = jsonencode({
    "Statement" = [
      {
        "Action"    = "sts:AssumeRole"
        "Effect"    = "Allow"
        "Principal" = { "Service" = "lambda.amazonaws.com" }
      },
    ]
    "Version" = "2012-10-17"
  })
  permissions_boundary = (local.has_boundary ? var.permissions_boundary_arn : null)
}

resource "aws_iam_role_policy" "intake_role_intake" {
  policy = jsonencode({
    "Statement" = [
      {
        "Action"   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        "Effect"   = "Allow"
        "Resource" = "${aws_cloudwatch_log_group.intake_log_group.arn}:*"
      },
      {
        "Action"   = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}"
      },
      {
        "Action"   = ["dynamodb:Query"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}/index/list"
      },
      {
        "Action"   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"]
        "Effect"   = "Allow"
        "Resource" = aws_sqs_queue.intake_queue.arn
      },
      {
        "Action"   = ["sqs:SendMessage"]
        "Effect"   = "Allow"
        "Resource" = [aws_sqs_queue.wake_queue.arn, aws_sqs_queue.intake_queue.arn, aws_sqs_queue.intake_dead_queue.arn]
      },
    ]
    "Version" = "2012-10-17"
  })
  name = "intake"
  role = aws_iam_role.intake_role.name
}

resource "aws_iam_role_policy_attachment" "intake_role_traced" {
  count      = local.traced ? 1 : 0
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/AWSXRayDaemonWriteAccess"
  role       = aws_iam_role.intake_role.name
}

resource "aws_iam_role_policy_attachment" "intake_role_has_key" {
  count      = local.has_key ? 1 : 0
  policy_arn = aws_iam_policy.key_policy[0].arn
  role       = aws_iam_role.intake_role.name
}

resource "aws_iam_role_policy_attachment" "intake_role_in_vpc" {
  count      = local.in_vpc ? 1 : 0
  policy_arn = aws_iam_policy.vpc_policy[0].arn
  role       = aws_iam_role.intake_role.name
}

resource "aws_cloudwatch_metric_alarm" "intake_throttles_alarm" {
  alarm_name          = "${var.name}-IntakeThrottlesAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Calls of IntakeFunction are throttled, because its own or the account's concurrency is used up."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "FunctionName" = aws_lambda_function.intake_function.function_name }
  evaluation_periods  = 5
  metric_name         = "Throttles"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_apigatewayv2_route" "interrupt_run_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/runs/{id}/interrupt"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_authorizer" "jwt_authorizer" {
  count            = local.jwt ? 1 : 0
  api_id           = aws_apigatewayv2_api.http_api.id
  authorizer_type  = "JWT"
  identity_sources = ["$request.header.Authorization"]

  jwt_configuration {
    audience = [var.jwt_audience]
    issuer   = var.jwt_issuer
  }
  name = "jwt"
}

resource "aws_iam_policy" "key_policy" {
  count       = local.has_key ? 1 : 0
  name_prefix = "${var.name}-KeyPolicy-"
  policy = jsonencode({
    "Statement" = [
      {
        "Action"    = ["kms:Decrypt", "kms:Encrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:DescribeKey"]
        "Condition" = { "StringEquals" = { "kms:ViaService" = ["dynamodb.${data.aws_region.current.region}.amazonaws.com", "sqs.${data.aws_region.current.region}.amazonaws.com"] } }
        "Effect"    = "Allow"
        "Resource"  = var.kms_key_arn
      },
    ]
    "Version" = "2012-10-17"
  })
}

resource "aws_apigatewayv2_route" "list_agents_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/agents"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "list_approvals_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/approvals"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_apigatewayv2_route" "list_calls_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/runs/{id}/calls"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "list_decisions_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/decisions"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "list_deliveries_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/webhooks/deliveries"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "list_disabled_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/webhooks/disabled"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "list_links_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/runs/{id}/links"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_apigatewayv2_route" "list_runs_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/runs"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "list_thread_runs_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/threads/{id}/runs"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "list_webhooks_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/webhooks"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_cloudwatch_metric_alarm" "loops_alarm" {
  alarm_name          = "${var.name}-LoopsAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Most steps claim a run and release it, or find it claimed, without any progress. A run or a queue may go round in a circle, which costs money."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  evaluation_periods  = 3

  metric_query {
    expression  = "IF(FILL(lost, 0) + FILL(empty, 0) > 500, IF(FILL(lost, 0) + FILL(empty, 0) > 3 * (FILL(steps, 0) - FILL(empty, 0)), 1, 0), 0)"
    id          = "loops"
    return_data = true
  }

  metric_query {
    id = "lost"

    metric {
      dimensions  = { "Stack" = var.name }
      metric_name = "ClaimsLost"
      namespace   = "Dormouse"
      period      = 300
      stat        = "Sum"
    }
    return_data = false
  }

  metric_query {
    id = "empty"

    metric {
      dimensions  = { "Stack" = var.name }
      metric_name = "EmptySteps"
      namespace   = "Dormouse"
      period      = 300
      stat        = "Sum"
    }
    return_data = false
  }

  metric_query {
    id = "steps"

    metric {
      dimensions  = { "Stack" = var.name }
      metric_name = "Steps"
      namespace   = "Dormouse"
      period      = 300
      stat        = "Sum"
    }
    return_data = false
  }
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_apigatewayv2_route" "make_link_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/runs/{id}/links"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_cloudwatch_metric_alarm" "notices_dead_alarm" {
  alarm_name          = "${var.name}-NoticesDeadAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "A notice was given up. Its endpoint failed for a day, is gone, or refuses the notice. dormouse webhooks dead lists such notices."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "Stack" = var.name }
  evaluation_periods  = 1
  metric_name         = "NoticesDead"
  namespace           = "Dormouse"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "notify_age_alarm" {
  alarm_name          = "${var.name}-NotifyAgeAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The oldest message of NotifyQueue has waited too long. Endpoints hang, or NotifyConcurrency is too low."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 5
  dimensions          = { "QueueName" = aws_sqs_queue.notify_queue.name }
  evaluation_periods  = 5
  metric_name         = "ApproximateAgeOfOldestMessage"
  namespace           = "AWS/SQS"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Maximum"
  threshold           = 1320
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "notify_canary_alarm" {
  alarm_name          = "${var.name}-NotifyCanaryAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The newest version of NotifyFunction crashed or timed out. During a rollout this alarm rolls it back."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions = {
    "ExecutedVersion" = aws_lambda_function.notify_function.version
    "FunctionName"    = aws_lambda_function.notify_function.function_name
    "Resource"        = "${aws_lambda_function.notify_function.function_name}:live"
  }
  evaluation_periods = 1
  metric_name        = "Errors"
  namespace          = "AWS/Lambda"
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period             = 60
  statistic          = "Sum"
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "notify_dead_alarm" {
  alarm_name          = "${var.name}-NotifyDeadAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "NotifyDeadQueue has messages. Deliveries fail repeatedly, or another program sends messages to NotifyQueue. No notice is lost, because the sweep wakes their lines."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "QueueName" = aws_sqs_queue.notify_dead_queue.name }
  evaluation_periods  = 1
  metric_name         = "ApproximateNumberOfMessagesVisible"
  namespace           = "AWS/SQS"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Maximum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_sqs_queue" "notify_dead_queue" {
  name                      = "${var.name}-NotifyDeadQueue"
  kms_master_key_id         = (local.has_key ? var.kms_key_arn : null)
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = (local.has_key ? null : true)
}

resource "aws_cloudwatch_metric_alarm" "notify_errors_alarm" {
  alarm_name          = "${var.name}-NotifyErrorsAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "NotifyFunction crashed or timed out."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "FunctionName" = aws_lambda_function.notify_function.function_name }
  evaluation_periods  = 1
  metric_name         = "Errors"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_lambda_function" "notify_function" {
  function_name = "${var.name}-NotifyFunction"
  architectures = ["arm64"]

  environment {
    variables = {
      "DORMOUSE_AUTH"             = var.auth
      "DORMOUSE_EVENT_BUS"        = var.event_bus_name
      "DORMOUSE_EVENT_SOURCE"     = var.notice_source
      "DORMOUSE_IAM_ROLES"        = var.iam_roles
      "DORMOUSE_NOTICE_MAIL_FROM" = var.notice_mail_from
      "DORMOUSE_NOTICE_TOPIC_ARN" = var.notice_topic_arn
      "DORMOUSE_NOTIFY_QUEUE_URL" = aws_sqs_queue.notify_queue.url
      "DORMOUSE_ORIGINS"          = join(",", var.origins)
      "DORMOUSE_POLICY"           = var.policy
      "DORMOUSE_PRIVATE_HOSTS"    = var.private_hosts
      "DORMOUSE_PUBLIC_URL"       = (local.has_public_url ? var.public_url : aws_apigatewayv2_api.http_api.api_endpoint)
      "DORMOUSE_ROLES_CLAIM"      = var.roles_claim
      "DORMOUSE_SECRETS_PATH"     = var.secrets_path
      "DORMOUSE_SHARDS"           = var.shards
      "DORMOUSE_STACK"            = var.name
      "DORMOUSE_TABLE"            = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      "DORMOUSE_TENANT"           = var.tenant
      "DORMOUSE_TENANT_CLAIM"     = var.tenant_claim
      "DORMOUSE_VERSION"          = var.app_version
      "DORMOUSE_WAKE_QUEUE_URL"   = aws_sqs_queue.wake_queue.url
    }
  }
  handler = "bootstrap"

  logging_config {
    application_log_level = var.log_level
    log_format            = "JSON"
    log_group             = aws_cloudwatch_log_group.notify_log_group.name
  }
  memory_size = 512
  role        = aws_iam_role.notify_role.arn
  runtime     = "provided.al2023"
  timeout     = 120

  tracing_config {
    mode = (local.traced ? "Active" : "PassThrough")
  }

  dynamic "vpc_config" {
    for_each = local.in_vpc ? [1] : []
    content {
      security_group_ids = var.security_group_ids
      subnet_ids         = var.subnet_ids
    }
  }
  filename         = local.zips["notify"]
  publish          = true
  source_code_hash = filebase64sha256(local.zips["notify"])
  depends_on       = [aws_iam_role_policy.notify_role_notify, aws_iam_role_policy_attachment.notify_role_traced, aws_iam_role_policy_attachment.notify_role_has_key, aws_iam_role_policy_attachment.notify_role_in_vpc]
}

resource "aws_lambda_function_recursion_config" "notify_function" {
  function_name  = aws_lambda_function.notify_function.function_name
  recursive_loop = "Allow"
}

resource "aws_lambda_alias" "notify_function_aliaslive" {
  function_name    = aws_lambda_function.notify_function.function_name
  function_version = aws_lambda_function.notify_function.version
  name             = "live"
}

resource "aws_lambda_event_source_mapping" "notify_function_notify" {
  batch_size              = 1
  event_source_arn        = aws_sqs_queue.notify_queue.arn
  function_name           = aws_lambda_alias.notify_function_aliaslive.arn
  function_response_types = ["ReportBatchItemFailures"]

  scaling_config {
    maximum_concurrency = var.notify_concurrency
  }
}

resource "aws_apigatewayv2_integration" "notify_integration" {
  api_id                 = aws_apigatewayv2_api.http_api.id
  integration_type       = "AWS_PROXY"
  integration_uri        = aws_lambda_alias.notify_function_aliaslive.arn
  payload_format_version = "2.0"
  timeout_milliseconds   = 30000
}

resource "aws_cloudwatch_log_group" "notify_log_group" {
  kms_key_id        = (local.has_key ? var.kms_key_arn : null)
  name              = "/aws/lambda/${var.name}/notify"
  retention_in_days = var.log_retention_days
}

resource "aws_lambda_permission" "notify_permission" {
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.notify_function.function_name
  principal     = "apigateway.amazonaws.com"
  qualifier     = "live"
  source_arn    = "arn:${data.aws_partition.current.partition}:execute-api:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:${aws_apigatewayv2_api.http_api.id}/*"
}

resource "aws_sqs_queue" "notify_queue" {
  name                      = "${var.name}-NotifyQueue"
  kms_master_key_id         = (local.has_key ? var.kms_key_arn : null)
  message_retention_seconds = 345600
  redrive_policy = jsonencode({
    "deadLetterTargetArn" = aws_sqs_queue.notify_dead_queue.arn
    "maxReceiveCount"     = 5
  })
  sqs_managed_sse_enabled    = (local.has_key ? null : true)
  visibility_timeout_seconds = 720
}

resource "aws_iam_role" "notify_role" {
  name_prefix = "${var.name}-NotifyRole-"
  assume_role_policy = jsonencode({
    "Statement" = [
      {
        "Action"    = "sts:AssumeRole"
        "Effect"    = "Allow"
        "Principal" = { "Service" = "lambda.amazonaws.com" }
      },
    ]
    "Version" = "2012-10-17"
  })
  permissions_boundary = (local.has_boundary ? var.permissions_boundary_arn : null)
}

resource "aws_iam_role_policy" "notify_role_notify" {
  policy = jsonencode({
    "Statement" = [for e in [
      {
        "Action"   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        "Effect"   = "Allow"
        "Resource" = "${aws_cloudwatch_log_group.notify_log_group.arn}:*"
      },
      {
        "Action"   = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}"
      },
      {
        "Action"   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes", "sqs:SendMessage"]
        "Effect"   = "Allow"
        "Resource" = aws_sqs_queue.notify_queue.arn
      },
      (local.has_event_bus ? {
        "Action"   = ["events:PutEvents"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:events:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:event-bus/${var.event_bus_name}"
      } : null),
      (local.has_notice_topic ? {
        "Action"   = ["sns:Publish"]
        "Effect"   = "Allow"
        "Resource" = var.notice_topic_arn
      } : null),
      (local.sends_mail ? {
        "Action"    = ["ses:SendEmail"]
        "Condition" = { "StringEquals" = { "ses:FromAddress" = var.notice_mail_from } }
        "Effect"    = "Allow"
        "Resource"  = "arn:${data.aws_partition.current.partition}:ses:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:identity/${var.notice_mail_identity}"
      } : null),
      (local.reads_secrets ? {
        "Action"   = ["ssm:GetParameter"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter${var.secrets_path}*"
      } : null),
      (local.reads_secrets ? {
        "Action"   = ["ssm:GetParameter"]
        "Effect"   = "Deny"
        "Resource" = ["arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter${var.secrets_path}HOOK_*", "arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter${var.secrets_path}OIDC_CLIENT_SECRET"]
      } : null),
      (local.has_secrets_key ? {
        "Action"    = ["kms:Decrypt"]
        "Condition" = { "StringEquals" = { "kms:ViaService" = "ssm.${data.aws_region.current.region}.amazonaws.com" } }
        "Effect"    = "Allow"
        "Resource"  = var.secrets_key_arn
      } : null),
    ] : e if e != null]
    "Version" = "2012-10-17"
  })
  name = "notify"
  role = aws_iam_role.notify_role.name
}

resource "aws_iam_role_policy_attachment" "notify_role_traced" {
  count      = local.traced ? 1 : 0
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/AWSXRayDaemonWriteAccess"
  role       = aws_iam_role.notify_role.name
}

resource "aws_iam_role_policy_attachment" "notify_role_has_key" {
  count      = local.has_key ? 1 : 0
  policy_arn = aws_iam_policy.key_policy[0].arn
  role       = aws_iam_role.notify_role.name
}

resource "aws_iam_role_policy_attachment" "notify_role_in_vpc" {
  count      = local.in_vpc ? 1 : 0
  policy_arn = aws_iam_policy.vpc_policy[0].arn
  role       = aws_iam_role.notify_role.name
}

resource "aws_cloudwatch_metric_alarm" "notify_throttles_alarm" {
  alarm_name          = "${var.name}-NotifyThrottlesAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Calls of NotifyFunction are throttled, because its own or the account's concurrency is used up."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "FunctionName" = aws_lambda_function.notify_function.function_name }
  evaluation_periods  = 5
  metric_name         = "Throttles"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "oldest_due_alarm" {
  alarm_name          = "${var.name}-OldestDueAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The sweep found work that had been due for more than five minutes. The sweep was down or is overloaded, or an item is throttled."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "Stack" = var.name }
  evaluation_periods  = 3
  metric_name         = "OldestDueSeconds"
  namespace           = "Dormouse"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Maximum"
  threshold           = 300
  treat_missing_data  = "notBreaching"
}

resource "aws_apigatewayv2_route" "open_api_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /openapi.json"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "open_mcp_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /mcp"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_agent_card_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /a2a/{agent}/.well-known/agent-card.json"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_agent_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/agents/{name}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_ai_sdk_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /ai-sdk/{agent}/{chat}/messages"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_ask_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/asks/{id}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_call_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/runs/{id}/calls/{call}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_copilot_kit_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /copilotkit/info"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_delivery_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/webhooks/deliveries/{id}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_events_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/runs/{id}/events"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_mcp_metadata_route" {
  count              = local.jwt ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /.well-known/oauth-protected-resource/mcp"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_me_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/me"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_messages_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/threads/{id}/messages"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_metadata_route" {
  count              = local.jwt ? 1 : 0
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /.well-known/oauth-protected-resource"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_only_agent_card_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /.well-known/agent-card.json"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_ops_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/ops"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_run_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/runs/{id}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_suspension_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/suspensions/{id}"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_apigatewayv2_route" "read_tenant_events_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/events"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_thread_events_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/threads/{id}/events"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_thread_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/threads/{id}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_usage_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/usage"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "read_webhook_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /v1/webhooks/{id}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "receive_hook_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "POST /v1/hooks/{name}"
  target             = "integrations/${aws_apigatewayv2_integration.hook_integration.id}"
}

resource "aws_apigatewayv2_route" "receive_push_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "POST /v1/push/{token}"
  target             = "integrations/${aws_apigatewayv2_integration.hook_integration.id}"
}

resource "aws_apigatewayv2_route" "redrive_delivery_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/webhooks/deliveries/{id}/redrive"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "redrive_endpoint_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/webhooks/deliveries/redrive"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "remove_webhook_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "DELETE /v1/webhooks/{id}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "resume_ai_sdk_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "GET /ai-sdk/{agent}/{chat}/stream"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "resume_run_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/runs/{id}/resume"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_apigatewayv2_route" "retry_run_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/runs/{id}/retry"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "revoke_link_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "DELETE /v1/runs/{id}/links/{link}"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_apigatewayv2_route" "run_ag_ui_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /ag-ui/{agent}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "run_copilot_kit_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /copilotkit/agent/{agent}/run"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_iam_role" "schedule_role" {
  name_prefix = "${var.name}-ScheduleRole-"
  assume_role_policy = jsonencode({
    "Statement" = [
      {
        "Action"    = "sts:AssumeRole"
        "Condition" = { "StringEquals" = { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } }
        "Effect"    = "Allow"
        "Principal" = { "Service" = "scheduler.amazonaws.com" }
      },
    ]
    "Version" = "2012-10-17"
  })
  permissions_boundary = (local.has_boundary ? var.permissions_boundary_arn : null)
}

resource "aws_iam_role_policy" "schedule_role_schedule" {
  policy = jsonencode({
    "Statement" = [for e in [
      {
        "Action"   = ["lambda:InvokeFunction"]
        "Effect"   = "Allow"
        "Resource" = aws_lambda_function.sweep_function.arn
      },
      {
        "Action"   = ["sqs:SendMessage"]
        "Effect"   = "Allow"
        "Resource" = aws_sqs_queue.sweep_dead_queue.arn
      },
      (local.has_key ? {
        "Action"    = ["kms:Decrypt", "kms:GenerateDataKey"]
        "Condition" = { "StringEquals" = { "kms:ViaService" = "sqs.${data.aws_region.current.region}.amazonaws.com" } }
        "Effect"    = "Allow"
        "Resource"  = var.kms_key_arn
      } : null),
    ] : e if e != null]
    "Version" = "2012-10-17"
  })
  name = "schedule"
  role = aws_iam_role.schedule_role.name
}

resource "aws_apigatewayv2_route" "send_a2a_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /a2a/{agent}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "send_ai_sdk_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /ai-sdk/{agent}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "send_ai_sdk_workflow_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /ai-sdk/{agent}/workflow"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "send_copilot_kit_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /copilotkit"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "send_mcp_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /mcp"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "send_message_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/threads/{id}/messages"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "show_link_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = "NONE"
  route_key          = "GET /v1/approvals/{token}"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

resource "aws_apigatewayv2_route" "start_run_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/runs"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_cloudwatch_metric_alarm" "step_canary_alarm" {
  alarm_name          = "${var.name}-StepCanaryAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The newest version of StepFunction crashed or timed out. During a rollout this alarm rolls it back."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions = {
    "ExecutedVersion" = aws_lambda_function.step_function.version
    "FunctionName"    = aws_lambda_function.step_function.function_name
    "Resource"        = "${aws_lambda_function.step_function.function_name}:live"
  }
  evaluation_periods = 1
  metric_name        = "Errors"
  namespace          = "AWS/Lambda"
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period             = 60
  statistic          = "Sum"
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "step_errors_alarm" {
  alarm_name          = "${var.name}-StepErrorsAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "StepFunction crashed or timed out."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "FunctionName" = aws_lambda_function.step_function.function_name }
  evaluation_periods  = 1
  metric_name         = "Errors"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "step_errors_often_alarm" {
  alarm_name          = "${var.name}-StepErrorsOftenAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Steps fail repeatedly and are retried, because a model, a tool, the table or a queue does not answer."
  comparison_operator = "GreaterThanOrEqualToThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "Stack" = var.name }
  evaluation_periods  = 3
  metric_name         = "StepErrors"
  namespace           = "Dormouse"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 300
  statistic           = "Sum"
  threshold           = 10
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "step_failing_alarm" {
  alarm_name          = "${var.name}-StepFailingAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "More than a tenth of the steps of the newest version of StepFunction fail. During a rollout this alarm rolls it back."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 2
  evaluation_periods  = 3

  metric_query {
    expression  = "IF(FILL(failed, 0) * 10 > invoked, 1, 0)"
    id          = "share"
    return_data = true
  }

  metric_query {
    id = "failed"

    metric {
      dimensions = {
        "Function" = aws_lambda_function.step_function.function_name
        "Stack"    = var.name
        "Version"  = aws_lambda_function.step_function.version
      }
      metric_name = "StepErrors"
      namespace   = "Dormouse"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }

  metric_query {
    id = "invoked"

    metric {
      dimensions = {
        "ExecutedVersion" = aws_lambda_function.step_function.version
        "FunctionName"    = aws_lambda_function.step_function.function_name
        "Resource"        = "${aws_lambda_function.step_function.function_name}:live"
      }
      metric_name = "Invocations"
      namespace   = "AWS/Lambda"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_lambda_function" "step_function" {
  function_name = "${var.name}-StepFunction"
  architectures = ["arm64"]

  environment {
    variables = {
      "DORMOUSE_EVENT_BUS"        = var.event_bus_name
      "DORMOUSE_LIVE_TEXT"        = var.live_text
      "DORMOUSE_NOTICE_KINDS"     = join(",", var.notice_kinds)
      "DORMOUSE_NOTICE_TOPIC_ARN" = var.notice_topic_arn
      "DORMOUSE_NOTIFY_QUEUE_URL" = aws_sqs_queue.notify_queue.url
      "DORMOUSE_POLICY"           = var.policy
      "DORMOUSE_PRICES"           = var.prices
      "DORMOUSE_PRIVATE_HOSTS"    = var.private_hosts
      "DORMOUSE_PUBLIC_URL"       = (local.has_public_url ? var.public_url : aws_apigatewayv2_api.http_api.api_endpoint)
      "DORMOUSE_SECRETS_PATH"     = var.secrets_path
      "DORMOUSE_SHARDS"           = var.shards
      "DORMOUSE_STACK"            = var.name
      "DORMOUSE_TABLE"            = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      "DORMOUSE_TENANT_DAY_COST"  = var.tenant_day_cost
      "DORMOUSE_VERSION"          = var.app_version
      "DORMOUSE_WAKE_QUEUE_URL"   = aws_sqs_queue.wake_queue.url
      "GOGC"                      = "400"
    }
  }
  handler = "bootstrap"

  logging_config {
    application_log_level = var.log_level
    log_format            = "JSON"
    log_group             = aws_cloudwatch_log_group.step_log_group.name
  }
  memory_size = var.step_memory
  role        = aws_iam_role.step_role.arn
  runtime     = "provided.al2023"
  timeout     = var.step_timeout

  tracing_config {
    mode = (local.traced ? "Active" : "PassThrough")
  }

  dynamic "vpc_config" {
    for_each = local.in_vpc ? [1] : []
    content {
      security_group_ids = var.security_group_ids
      subnet_ids         = var.subnet_ids
    }
  }
  filename         = local.zips["step"]
  publish          = true
  source_code_hash = filebase64sha256(local.zips["step"])
  depends_on       = [aws_iam_role_policy.step_role_step, aws_iam_role_policy_attachment.step_role_traced, aws_iam_role_policy_attachment.step_role_has_key, aws_iam_role_policy_attachment.step_role_in_vpc]
}

resource "aws_lambda_function_recursion_config" "step_function" {
  function_name  = aws_lambda_function.step_function.function_name
  recursive_loop = "Allow"
}

resource "aws_lambda_alias" "step_function_aliaslive" {
  function_name    = aws_lambda_function.step_function.function_name
  function_version = aws_lambda_function.step_function.version
  name             = "live"
}

resource "aws_lambda_event_source_mapping" "step_function_wake" {
  batch_size              = 1
  event_source_arn        = aws_sqs_queue.wake_queue.arn
  function_name           = aws_lambda_alias.step_function_aliaslive.arn
  function_response_types = ["ReportBatchItemFailures"]

  scaling_config {
    maximum_concurrency = var.step_concurrency
  }
}

resource "aws_cloudwatch_log_group" "step_log_group" {
  kms_key_id        = (local.has_key ? var.kms_key_arn : null)
  name              = "/aws/lambda/${var.name}/step"
  retention_in_days = var.log_retention_days
}

resource "aws_iam_role" "step_role" {
  name_prefix = "${var.name}-StepRole-"
  assume_role_policy = jsonencode({
    "Statement" = [
      {
        "Action"    = "sts:AssumeRole"
        "Effect"    = "Allow"
        "Principal" = { "Service" = "lambda.amazonaws.com" }
      },
    ]
    "Version" = "2012-10-17"
  })
  permissions_boundary = (local.has_boundary ? var.permissions_boundary_arn : null)
}

resource "aws_iam_role_policy" "step_role_step" {
  policy = jsonencode({
    "Statement" = [for e in [
      {
        "Action"   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        "Effect"   = "Allow"
        "Resource" = "${aws_cloudwatch_log_group.step_log_group.arn}:*"
      },
      {
        "Action"   = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}"
      },
      {
        "Action"   = ["dynamodb:Query"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}/index/list"
      },
      {
        "Action"   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"]
        "Effect"   = "Allow"
        "Resource" = aws_sqs_queue.wake_queue.arn
      },
      {
        "Action"   = ["sqs:SendMessage"]
        "Effect"   = "Allow"
        "Resource" = [aws_sqs_queue.wake_queue.arn, aws_sqs_queue.notify_queue.arn]
      },
      (local.asks_bedrock ? {
        "Action"   = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]
        "Effect"   = "Allow"
        "Resource" = var.bedrock_models
      } : null),
      (local.has_guardrails ? {
        "Action"   = ["bedrock:ApplyGuardrail"]
        "Effect"   = "Allow"
        "Resource" = var.bedrock_guardrails
      } : null),
      (local.invokes_functions ? {
        "Action"   = ["lambda:InvokeFunction"]
        "Effect"   = "Allow"
        "Resource" = var.tool_functions
      } : null),
      (local.reads_secrets ? {
        "Action"   = ["ssm:GetParameter"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter${var.secrets_path}*"
      } : null),
      (local.reads_secrets ? {
        "Action"   = ["ssm:GetParameter"]
        "Effect"   = "Deny"
        "Resource" = ["arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter${var.secrets_path}HOOK_*", "arn:${data.aws_partition.current.partition}:ssm:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:parameter${var.secrets_path}OIDC_CLIENT_SECRET"]
      } : null),
      (local.has_secrets_key ? {
        "Action"    = ["kms:Decrypt"]
        "Condition" = { "StringEquals" = { "kms:ViaService" = "ssm.${data.aws_region.current.region}.amazonaws.com" } }
        "Effect"    = "Allow"
        "Resource"  = var.secrets_key_arn
      } : null),
    ] : e if e != null]
    "Version" = "2012-10-17"
  })
  name = "step"
  role = aws_iam_role.step_role.name
}

resource "aws_iam_role_policy_attachment" "step_role_traced" {
  count      = local.traced ? 1 : 0
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/AWSXRayDaemonWriteAccess"
  role       = aws_iam_role.step_role.name
}

resource "aws_iam_role_policy_attachment" "step_role_has_key" {
  count      = local.has_key ? 1 : 0
  policy_arn = aws_iam_policy.key_policy[0].arn
  role       = aws_iam_role.step_role.name
}

resource "aws_iam_role_policy_attachment" "step_role_in_vpc" {
  count      = local.in_vpc ? 1 : 0
  policy_arn = aws_iam_policy.vpc_policy[0].arn
  role       = aws_iam_role.step_role.name
}

resource "aws_cloudwatch_metric_alarm" "step_throttles_alarm" {
  alarm_name          = "${var.name}-StepThrottlesAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Calls of StepFunction are throttled, because its own or the account's concurrency is used up."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "FunctionName" = aws_lambda_function.step_function.function_name }
  evaluation_periods  = 5
  metric_name         = "Throttles"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_apigatewayv2_route" "stop_ai_sdk_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /ai-sdk/{agent}/{chat}/stop"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_apigatewayv2_route" "stop_copilot_kit_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /copilotkit/agent/{agent}/stop/{thread}"
  target             = "integrations/${aws_apigatewayv2_integration.api_integration.id}"
}

resource "aws_cloudwatch_metric_alarm" "stream_errors_alarm" {
  count               = local.has_streams ? 1 : 0
  alarm_name          = "${var.name}-StreamErrorsAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "StreamFunction crashed or timed out."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "FunctionName" = aws_lambda_function.stream_function[0].function_name }
  evaluation_periods  = 1
  metric_name         = "Errors"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_lambda_function" "stream_function" {
  count         = local.has_streams ? 1 : 0
  function_name = "${var.name}-StreamFunction"
  architectures = ["arm64"]

  environment {
    variables = {
      "DORMOUSE_AUTH"             = var.auth
      "DORMOUSE_IAM_ROLES"        = var.iam_roles
      "DORMOUSE_LIVE_TEXT"        = var.live_text
      "DORMOUSE_NOTIFY_QUEUE_URL" = aws_sqs_queue.notify_queue.url
      "DORMOUSE_ORIGINS"          = join(",", var.origins)
      "DORMOUSE_ROLES_CLAIM"      = var.roles_claim
      "DORMOUSE_SHARDS"           = var.shards
      "DORMOUSE_STACK"            = var.name
      "DORMOUSE_STREAM"           = "1"
      "DORMOUSE_TABLE"            = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      "DORMOUSE_TENANT"           = var.tenant
      "DORMOUSE_TENANT_CLAIM"     = var.tenant_claim
      "DORMOUSE_VERSION"          = var.app_version
      "DORMOUSE_WAKE_QUEUE_URL"   = aws_sqs_queue.wake_queue.url
    }
  }
  handler = "bootstrap"

  logging_config {
    application_log_level = var.log_level
    log_format            = "JSON"
    log_group             = aws_cloudwatch_log_group.stream_log_group[0].name
  }
  memory_size                    = 256
  reserved_concurrent_executions = (local.reserves_streams ? var.stream_concurrency : null)
  role                           = aws_iam_role.stream_role[0].arn
  runtime                        = "provided.al2023"
  timeout                        = 150

  tracing_config {
    mode = (local.traced ? "Active" : "PassThrough")
  }

  dynamic "vpc_config" {
    for_each = local.in_vpc ? [1] : []
    content {
      security_group_ids = var.security_group_ids
      subnet_ids         = var.subnet_ids
    }
  }
  filename         = local.zips["api"]
  publish          = true
  source_code_hash = filebase64sha256(local.zips["api"])
  depends_on       = [aws_iam_role_policy.stream_role_stream, aws_iam_role_policy_attachment.stream_role_traced, aws_iam_role_policy_attachment.stream_role_has_key, aws_iam_role_policy_attachment.stream_role_in_vpc]
}

resource "aws_lambda_permission" "stream_function_url_invoke_allow_public_access" {
  count                    = local.has_streams ? 1 : 0
  action                   = "lambda:InvokeFunction"
  function_name            = aws_lambda_function.stream_function[0].function_name
  invoked_via_function_url = true
  principal                = "*"
}

resource "aws_lambda_function_url" "stream_function_url" {
  count              = local.has_streams ? 1 : 0
  authorization_type = "NONE"
  invoke_mode        = "RESPONSE_STREAM"
  function_name      = aws_lambda_function.stream_function[0].function_name
}

resource "aws_lambda_permission" "stream_function_url_public_permissions" {
  count                  = local.has_streams ? 1 : 0
  action                 = "lambda:InvokeFunctionUrl"
  function_name          = aws_lambda_function.stream_function[0].function_name
  function_url_auth_type = "NONE"
  principal              = "*"
}

resource "aws_cloudwatch_log_group" "stream_log_group" {
  count             = local.has_streams ? 1 : 0
  kms_key_id        = (local.has_key ? var.kms_key_arn : null)
  name              = "/aws/lambda/${var.name}/stream"
  retention_in_days = var.log_retention_days
}

resource "aws_iam_role" "stream_role" {
  count       = local.has_streams ? 1 : 0
  name_prefix = "${var.name}-StreamRole-"
  assume_role_policy = jsonencode({
    "Statement" = [
      {
        "Action"    = "sts:AssumeRole"
        "Effect"    = "Allow"
        "Principal" = { "Service" = "lambda.amazonaws.com" }
      },
    ]
    "Version" = "2012-10-17"
  })
  permissions_boundary = (local.has_boundary ? var.permissions_boundary_arn : null)
}

resource "aws_iam_role_policy" "stream_role_stream" {
  count = local.has_streams ? 1 : 0
  policy = jsonencode({
    "Statement" = [
      {
        "Action"   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        "Effect"   = "Allow"
        "Resource" = "${aws_cloudwatch_log_group.stream_log_group[0].arn}:*"
      },
      {
        "Action"   = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}"
      },
      {
        "Action"    = ["dynamodb:PutItem"]
        "Condition" = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["TK#*"] } }
        "Effect"    = "Allow"
        "Resource"  = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}"
      },
      {
        "Action"   = ["dynamodb:Query"]
        "Effect"   = "Allow"
        "Resource" = ["arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}/index/list", "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}/index/approvals"]
      },
    ]
    "Version" = "2012-10-17"
  })
  name = "stream"
  role = aws_iam_role.stream_role[0].name
}

resource "aws_iam_role_policy_attachment" "stream_role_traced" {
  count      = local.has_streams && local.traced ? 1 : 0
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/AWSXRayDaemonWriteAccess"
  role       = aws_iam_role.stream_role[0].name
}

resource "aws_iam_role_policy_attachment" "stream_role_has_key" {
  count      = local.has_streams && local.has_key ? 1 : 0
  policy_arn = aws_iam_policy.key_policy[0].arn
  role       = aws_iam_role.stream_role[0].name
}

resource "aws_iam_role_policy_attachment" "stream_role_in_vpc" {
  count      = local.has_streams && local.in_vpc ? 1 : 0
  policy_arn = aws_iam_policy.vpc_policy[0].arn
  role       = aws_iam_role.stream_role[0].name
}

resource "aws_cloudwatch_metric_alarm" "stream_throttles_alarm" {
  count               = local.has_streams ? 1 : 0
  alarm_name          = "${var.name}-StreamThrottlesAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Calls of StreamFunction are throttled, because its own or the account's concurrency is used up."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "FunctionName" = aws_lambda_function.stream_function[0].function_name }
  evaluation_periods  = 5
  metric_name         = "Throttles"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "sweep_dead_alarm" {
  alarm_name          = "${var.name}-SweepDeadAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "SweepDeadQueue has messages. The schedule could not invoke SweepFunction."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "QueueName" = aws_sqs_queue.sweep_dead_queue.name }
  evaluation_periods  = 1
  metric_name         = "ApproximateNumberOfMessagesVisible"
  namespace           = "AWS/SQS"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Maximum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_sqs_queue" "sweep_dead_queue" {
  name                      = "${var.name}-SweepDeadQueue"
  kms_master_key_id         = (local.has_key ? var.kms_key_arn : null)
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = (local.has_key ? null : true)
}

resource "aws_cloudwatch_metric_alarm" "sweep_errors_alarm" {
  alarm_name          = "${var.name}-SweepErrorsAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "SweepFunction crashed or timed out, or could wake none of the due runs."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "FunctionName" = aws_lambda_function.sweep_function.function_name }
  evaluation_periods  = 1
  metric_name         = "Errors"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_lambda_function" "sweep_function" {
  function_name = "${var.name}-SweepFunction"
  architectures = ["arm64"]

  environment {
    variables = {
      "DORMOUSE_NOTIFY_QUEUE_URL" = aws_sqs_queue.notify_queue.url
      "DORMOUSE_SHARDS"           = var.shards
      "DORMOUSE_STACK"            = var.name
      "DORMOUSE_TABLE"            = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      "DORMOUSE_VERSION"          = var.app_version
      "DORMOUSE_WAKE_QUEUE_URL"   = aws_sqs_queue.wake_queue.url
    }
  }
  handler = "bootstrap"

  logging_config {
    application_log_level = var.log_level
    log_format            = "JSON"
    log_group             = aws_cloudwatch_log_group.sweep_log_group.name
  }
  memory_size                    = 512
  reserved_concurrent_executions = (local.reserves_decisions ? 2 : null)
  role                           = aws_iam_role.sweep_role.arn
  runtime                        = "provided.al2023"
  timeout                        = 50

  tracing_config {
    mode = (local.traced ? "Active" : "PassThrough")
  }

  dynamic "vpc_config" {
    for_each = local.in_vpc ? [1] : []
    content {
      security_group_ids = var.security_group_ids
      subnet_ids         = var.subnet_ids
    }
  }
  filename         = local.zips["sweep"]
  publish          = true
  source_code_hash = filebase64sha256(local.zips["sweep"])
  depends_on       = [aws_iam_role_policy.sweep_role_sweep, aws_iam_role_policy_attachment.sweep_role_traced, aws_iam_role_policy_attachment.sweep_role_has_key, aws_iam_role_policy_attachment.sweep_role_in_vpc]
}

resource "aws_lambda_function_event_invoke_config" "sweep_function_event_invoke_config" {
  function_name                = aws_lambda_function.sweep_function.function_name
  maximum_event_age_in_seconds = 60
  maximum_retry_attempts       = 0
  qualifier                    = "$LATEST"
}

resource "aws_scheduler_schedule" "sweep_function_every_minute" {
  name = "${var.name}-SweepFunctionEveryMinute"

  flexible_time_window {
    mode = "OFF"
  }
  schedule_expression = "rate(1 minute)"

  target {
    arn = aws_lambda_function.sweep_function.arn

    dead_letter_config {
      arn = aws_sqs_queue.sweep_dead_queue.arn
    }

    retry_policy {
      maximum_event_age_in_seconds = 60
      maximum_retry_attempts       = 2
    }
    role_arn = aws_iam_role.schedule_role.arn
  }
}

resource "aws_cloudwatch_log_group" "sweep_log_group" {
  kms_key_id        = (local.has_key ? var.kms_key_arn : null)
  name              = "/aws/lambda/${var.name}/sweep"
  retention_in_days = var.log_retention_days
}

resource "aws_iam_role" "sweep_role" {
  name_prefix = "${var.name}-SweepRole-"
  assume_role_policy = jsonencode({
    "Statement" = [
      {
        "Action"    = "sts:AssumeRole"
        "Effect"    = "Allow"
        "Principal" = { "Service" = "lambda.amazonaws.com" }
      },
    ]
    "Version" = "2012-10-17"
  })
  permissions_boundary = (local.has_boundary ? var.permissions_boundary_arn : null)
}

resource "aws_iam_role_policy" "sweep_role_sweep" {
  policy = jsonencode({
    "Statement" = [
      {
        "Action"   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        "Effect"   = "Allow"
        "Resource" = "${aws_cloudwatch_log_group.sweep_log_group.arn}:*"
      },
      {
        "Action"   = ["dynamodb:Query"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}/index/due"
      },
      {
        "Action"   = ["dynamodb:UpdateItem"]
        "Effect"   = "Allow"
        "Resource" = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${(local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)}"
      },
      {
        "Action"   = ["sqs:SendMessage"]
        "Effect"   = "Allow"
        "Resource" = [aws_sqs_queue.wake_queue.arn, aws_sqs_queue.notify_queue.arn]
      },
    ]
    "Version" = "2012-10-17"
  })
  name = "sweep"
  role = aws_iam_role.sweep_role.name
}

resource "aws_iam_role_policy_attachment" "sweep_role_traced" {
  count      = local.traced ? 1 : 0
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/AWSXRayDaemonWriteAccess"
  role       = aws_iam_role.sweep_role.name
}

resource "aws_iam_role_policy_attachment" "sweep_role_has_key" {
  count      = local.has_key ? 1 : 0
  policy_arn = aws_iam_policy.key_policy[0].arn
  role       = aws_iam_role.sweep_role.name
}

resource "aws_iam_role_policy_attachment" "sweep_role_in_vpc" {
  count      = local.in_vpc ? 1 : 0
  policy_arn = aws_iam_policy.vpc_policy[0].arn
  role       = aws_iam_role.sweep_role.name
}

resource "aws_cloudwatch_metric_alarm" "sweep_silent_alarm" {
  alarm_name          = "${var.name}-SweepSilentAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "No sweep has run for five minutes, so deadlines are late and lost wake-ups are not replaced. A new stack fires it once."
  comparison_operator = "LessThanThreshold"
  datapoints_to_alarm = 5
  dimensions          = { "FunctionName" = aws_lambda_function.sweep_function.function_name }
  evaluation_periods  = 5
  metric_name         = "Invocations"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 1
  treat_missing_data  = "breaching"
}

resource "aws_cloudwatch_metric_alarm" "sweep_throttles_alarm" {
  alarm_name          = "${var.name}-SweepThrottlesAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Calls of SweepFunction are throttled, because its own or the account's concurrency is used up."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "FunctionName" = aws_lambda_function.sweep_function.function_name }
  evaluation_periods  = 5
  metric_name         = "Throttles"
  namespace           = "AWS/Lambda"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Sum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_dynamodb_table" "table" {
  count = local.makes_table ? 1 : 0
  name  = "${var.name}-Table"

  attribute {
    name = "pk"
    type = "S"
  }

  attribute {
    name = "sk"
    type = "S"
  }

  attribute {
    name = "dsh"
    type = "S"
  }

  attribute {
    name = "due"
    type = "N"
  }

  attribute {
    name = "lp"
    type = "S"
  }

  attribute {
    name = "ls"
    type = "S"
  }

  attribute {
    name = "ap"
    type = "S"
  }

  attribute {
    name = "as"
    type = "S"
  }
  billing_mode                = "PAY_PER_REQUEST"
  deletion_protection_enabled = (local.protected ? true : false)

  global_secondary_index {
    hash_key        = "dsh"
    name            = "due"
    projection_type = "KEYS_ONLY"
    range_key       = "due"
  }

  global_secondary_index {
    hash_key        = "lp"
    name            = "list"
    projection_type = "KEYS_ONLY"
    range_key       = "ls"
  }

  global_secondary_index {
    hash_key        = "ap"
    name            = "approvals"
    projection_type = "KEYS_ONLY"
    range_key       = "as"
  }
  hash_key = "pk"

  point_in_time_recovery {
    enabled = true
  }
  range_key = "sk"

  server_side_encryption {
    kms_key_arn = (local.has_key ? var.kms_key_arn : null)
    enabled     = true
  }

  ttl {
    attribute_name = "ttl"
    enabled        = true
  }

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_cloudwatch_metric_alarm" "table_reads_alarm" {
  alarm_name          = "${var.name}-TableReadsAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The table or an index throttles reads, because of one hot key or the account's limit. Requests are retried."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  evaluation_periods  = 5

  metric_query {
    expression  = "FILL(table, 0) + FILL(due, 0) + FILL(list, 0) + FILL(approvals, 0)"
    id          = "all"
    return_data = true
  }

  metric_query {
    id = "table"

    metric {
      dimensions  = { "TableName" = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table) }
      metric_name = "ReadThrottleEvents"
      namespace   = "AWS/DynamoDB"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }

  metric_query {
    id = "due"

    metric {
      dimensions = {
        "GlobalSecondaryIndexName" = "due"
        "TableName"                = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      }
      metric_name = "ReadThrottleEvents"
      namespace   = "AWS/DynamoDB"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }

  metric_query {
    id = "list"

    metric {
      dimensions = {
        "GlobalSecondaryIndexName" = "list"
        "TableName"                = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      }
      metric_name = "ReadThrottleEvents"
      namespace   = "AWS/DynamoDB"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }

  metric_query {
    id = "approvals"

    metric {
      dimensions = {
        "GlobalSecondaryIndexName" = "approvals"
        "TableName"                = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      }
      metric_name = "ReadThrottleEvents"
      namespace   = "AWS/DynamoDB"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "table_writes_alarm" {
  alarm_name          = "${var.name}-TableWritesAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The table or an index throttles writes, because of one hot key or the account's limit. Requests are retried."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  evaluation_periods  = 5

  metric_query {
    expression  = "FILL(table, 0) + FILL(due, 0) + FILL(list, 0) + FILL(approvals, 0)"
    id          = "all"
    return_data = true
  }

  metric_query {
    id = "table"

    metric {
      dimensions  = { "TableName" = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table) }
      metric_name = "WriteThrottleEvents"
      namespace   = "AWS/DynamoDB"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }

  metric_query {
    id = "due"

    metric {
      dimensions = {
        "GlobalSecondaryIndexName" = "due"
        "TableName"                = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      }
      metric_name = "WriteThrottleEvents"
      namespace   = "AWS/DynamoDB"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }

  metric_query {
    id = "list"

    metric {
      dimensions = {
        "GlobalSecondaryIndexName" = "list"
        "TableName"                = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      }
      metric_name = "WriteThrottleEvents"
      namespace   = "AWS/DynamoDB"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }

  metric_query {
    id = "approvals"

    metric {
      dimensions = {
        "GlobalSecondaryIndexName" = "approvals"
        "TableName"                = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
      }
      metric_name = "WriteThrottleEvents"
      namespace   = "AWS/DynamoDB"
      period      = 60
      stat        = "Sum"
    }
    return_data = false
  }
  ok_actions         = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  threshold          = 0
  treat_missing_data = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "takeovers_alarm" {
  alarm_name          = "${var.name}-TakeoversAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "Steps are killed or time out, and other steps take over their runs."
  comparison_operator = "GreaterThanOrEqualToThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "Stack" = var.name }
  evaluation_periods  = 3
  metric_name         = "Takeovers"
  namespace           = "Dormouse"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 300
  statistic           = "Sum"
  threshold           = 5
  treat_missing_data  = "notBreaching"
}

resource "aws_apigatewayv2_route" "test_webhook_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "POST /v1/webhooks/{id}/test"
  target             = "integrations/${aws_apigatewayv2_integration.notify_integration.id}"
}

resource "aws_iam_policy" "vpc_policy" {
  count       = local.in_vpc ? 1 : 0
  name_prefix = "${var.name}-VpcPolicy-"
  policy = jsonencode({
    "Statement" = [
      {
        "Action"   = ["ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses"]
        "Effect"   = "Allow"
        "Resource" = "*"
      },
      {
        "Action"    = ["ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:UnassignPrivateIpAddresses"]
        "Condition" = { "ArnLike" = { "lambda:SourceFunctionArn" = "arn:${data.aws_partition.current.partition}:lambda:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:function:*" } }
        "Effect"    = "Deny"
        "Resource"  = "*"
      },
    ]
    "Version" = "2012-10-17"
  })
}

resource "aws_cloudwatch_metric_alarm" "wake_age_alarm" {
  alarm_name          = "${var.name}-WakeAgeAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "The oldest message of WakeQueue has waited too long. Steps are slow or hang, or StepConcurrency is too low."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 5
  dimensions          = { "QueueName" = aws_sqs_queue.wake_queue.name }
  evaluation_periods  = 5
  metric_name         = "ApproximateAgeOfOldestMessage"
  namespace           = "AWS/SQS"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Maximum"
  threshold           = local.mappings["StepSeconds"][var.step_timeout]["Old"]
  treat_missing_data  = "notBreaching"
}

resource "aws_cloudwatch_metric_alarm" "wake_dead_alarm" {
  alarm_name          = "${var.name}-WakeDeadAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "WakeDeadQueue has messages. Steps fail repeatedly, or another program sends messages to WakeQueue. Runs continue, because the sweep wakes them."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 1
  dimensions          = { "QueueName" = aws_sqs_queue.wake_dead_queue.name }
  evaluation_periods  = 1
  metric_name         = "ApproximateNumberOfMessagesVisible"
  namespace           = "AWS/SQS"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  statistic           = "Maximum"
  threshold           = 0
  treat_missing_data  = "notBreaching"
}

resource "aws_sqs_queue" "wake_dead_queue" {
  name                      = "${var.name}-WakeDeadQueue"
  kms_master_key_id         = (local.has_key ? var.kms_key_arn : null)
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = (local.has_key ? null : true)
}

resource "aws_cloudwatch_metric_alarm" "wake_lag_alarm" {
  alarm_name          = "${var.name}-WakeLagAlarm"
  alarm_actions       = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  alarm_description   = "One wake-up in twenty waits in its queue for more than a minute. Too few steps run at once."
  comparison_operator = "GreaterThanThreshold"
  datapoints_to_alarm = 3
  dimensions          = { "Stack" = var.name }
  evaluation_periods  = 3
  extended_statistic  = "p95"
  metric_name         = "WakeLagSeconds"
  namespace           = "Dormouse"
  ok_actions          = (local.has_topic ? [var.alarm_topic_arn] : (local.makes_topic ? [aws_sns_topic.alarm_topic[0].arn] : null))
  period              = 60
  threshold           = 60
  treat_missing_data  = "notBreaching"
}

resource "aws_sqs_queue" "wake_queue" {
  name                      = "${var.name}-WakeQueue"
  kms_master_key_id         = (local.has_key ? var.kms_key_arn : null)
  message_retention_seconds = 345600
  redrive_policy = jsonencode({
    "deadLetterTargetArn" = aws_sqs_queue.wake_dead_queue.arn
    "maxReceiveCount"     = 5
  })
  sqs_managed_sse_enabled    = (local.has_key ? null : true)
  visibility_timeout_seconds = local.mappings["StepSeconds"][var.step_timeout]["Visibility"]
}

resource "aws_apigatewayv2_route" "withdraw_decision_route" {
  api_id             = aws_apigatewayv2_api.http_api.id
  authorization_type = (local.jwt ? "JWT" : "AWS_IAM")
  authorizer_id      = (local.jwt ? aws_apigatewayv2_authorizer.jwt_authorizer[0].id : null)
  route_key          = "DELETE /v1/suspensions/{id}/decisions/{decision}"
  target             = "integrations/${aws_apigatewayv2_integration.decision_integration.id}"
}

