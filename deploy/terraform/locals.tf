# Generated from template.yaml by .ci/ways update; do not edit.

locals {
  # The zips of a release by program.
  zips = { for program in ["api", "console", "decision", "hook", "intake", "notify", "step", "sweep"] : program => "${var.zips}/${one(fileset(var.zips, "dormouse_*_lambda_${program}_arm64.zip"))}" }

  mappings = { "StepSeconds" = {
    "120" = {
      "Old"        = 1320
      "Visibility" = 720
    }
    "300" = {
      "Old"        = 2400
      "Visibility" = 1800
    }
    "60" = {
      "Old"        = 1260
      "Visibility" = 360
    }
    "600" = {
      "Old"        = 4500
      "Visibility" = 3600
    }
    "900" = {
      "Old"        = 6600
      "Visibility" = 5400
    }
  } }

  asks_bedrock       = !(join("", var.bedrock_models) == "")
  has_boundary       = !(var.permissions_boundary_arn == "")
  has_budget         = !(var.monthly_budget == "0")
  has_console        = !(var.sign_in_issuer == "")
  has_event_bus      = !(var.event_bus_name == "")
  has_guardrails     = !(join("", var.bedrock_guardrails) == "")
  has_key            = !(var.kms_key_arn == "")
  has_notice_topic   = !(var.notice_topic_arn == "")
  has_origins        = !(join("", var.origins) == "")
  has_public_url     = !(var.public_url == "")
  has_secrets_key    = (local.reads_secrets && !(var.secrets_key_arn == ""))
  has_streams        = (var.streams == "On")
  has_topic          = !(var.alarm_topic_arn == "")
  in_vpc             = !(join("", var.subnet_ids) == "")
  invokes_functions  = !(join("", var.tool_functions) == "")
  jwt                = (var.auth == "JWT")
  makes_table        = (var.existing_table == "")
  makes_topic        = (!local.has_topic && !(var.alarm_email == ""))
  protected          = (var.deletion_protection == "true")
  reads_secrets      = !(var.secrets_path == "")
  reserves_api       = !(var.api_concurrency == 0)
  reserves_decisions = !(var.decision_concurrency == 0)
  reserves_streams   = !(var.stream_concurrency == 0)
  sends_mail         = !(var.notice_mail_from == "")
  takes_events       = !(var.intake_agent == "")
  traced             = (var.tracing == "On")
}

# What parameters need of each other.
resource "terraform_data" "rules" {
  lifecycle {
    precondition {
      condition     = (var.monthly_budget == "0") || (!(var.alarm_topic_arn == "") || !(var.alarm_email == ""))
      error_message = "MonthlyBudget needs AlarmTopicArn or AlarmEmail, which it notifies."
    }
    precondition {
      condition     = !(var.auth == "JWT") || !(var.jwt_issuer == "")
      error_message = "Auth=JWT needs JwtIssuer, the URL of the token issuer."
    }
    precondition {
      condition     = !(var.auth == "JWT") || !(var.jwt_audience == "")
      error_message = "Auth=JWT needs JwtAudience, the audience that tokens must have."
    }
    precondition {
      condition     = (var.notice_mail_from == "") || !(var.notice_mail_identity == "")
      error_message = "NoticeMailFrom needs NoticeMailIdentity, the identity in SES that covers the address."
    }
    precondition {
      condition     = (var.sign_in_issuer == "") || !(var.sign_in_client_id == "")
      error_message = "SignInIssuer needs SignInClientId, the id of this stack at the provider."
    }
    precondition {
      condition     = (var.sign_in_issuer == "") || !(var.secrets_path == "")
      error_message = "SignInIssuer needs SecretsPath, under which the parameter OIDC_CLIENT_SECRET is."
    }
    precondition {
      condition     = (join("", var.subnet_ids) == "") || !(join("", var.security_group_ids) == "")
      error_message = "SubnetIds needs SecurityGroupIds, the security groups of the functions."
    }
  }
}
