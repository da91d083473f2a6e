# Generated from template.yaml by .ci/ways update; do not edit.

output "api_url" {
  description = "The URL of the HTTP API."
  value       = aws_apigatewayv2_api.http_api.api_endpoint
}

output "intake_dead_queue_url" {
  description = "The URL of the queue with requests that started no run, with the reason."
  value       = aws_sqs_queue.intake_dead_queue.url
}

output "intake_queue_arn" {
  description = "The ARN of the intake queue. Use it as the target of S3 and EventBridge events."
  value       = aws_sqs_queue.intake_queue.arn
}

output "intake_queue_url" {
  description = "The URL of the intake queue, to which jobs send requests."
  value       = aws_sqs_queue.intake_queue.url
}

output "notify_dead_queue_url" {
  description = "The URL of the queue with wake-ups of deliveries that failed five times, and foreign messages."
  value       = aws_sqs_queue.notify_dead_queue.url
}

output "notify_queue_url" {
  description = "The URL of the queue with wake-ups of deliveries."
  value       = aws_sqs_queue.notify_queue.url
}

output "stream_url" {
  description = "The URL to which ApiFunction redirects readers of event streams."
  value       = local.has_streams ? aws_lambda_function_url.stream_function_url[0].function_url : null
}

output "sweep_dead_queue_url" {
  description = "The URL of the queue with sweeps that the schedule could not deliver."
  value       = aws_sqs_queue.sweep_dead_queue.url
}

output "table_name" {
  description = "The name of the table. Pass it to dormouse agents deploy --table."
  value       = (local.makes_table ? aws_dynamodb_table.table[0].name : var.existing_table)
}

output "wake_dead_queue_url" {
  description = "The URL of the queue with wake-ups that failed five times, and foreign messages."
  value       = aws_sqs_queue.wake_dead_queue.url
}

output "wake_queue_url" {
  description = "The URL of the queue with wake-ups."
  value       = aws_sqs_queue.wake_queue.url
}

