# Generated from template.yaml by .ci/ways update; do not edit.

variable "name" {
  type        = string
  description = "The name of the deployment. Names of all resources begin with it, as those of a stack do."
  nullable    = false
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,19}$", var.name))
    error_message = "Use at most 20 lower-case letters, digits and dashes, and begin with a letter."
  }
}

variable "zips" {
  type        = string
  description = "The directory with the files dormouse_VERSION_lambda_PROGRAM_arm64.zip of one release."
  nullable    = false
  validation {
    condition     = length(fileset(var.zips, "dormouse_*_lambda_api_arm64.zip")) == 1
    error_message = "The directory must have the files of one release."
  }
}

variable "alarm_email" {
  type        = string
  description = "Without AlarmTopicArn: the email address that receives alarms, through a topic that the stack creates. If both are empty, alarms notify no one."
  nullable    = false
  default     = ""
}

variable "alarm_topic_arn" {
  type        = string
  description = "The ARN of the SNS topic that receives alarms. If empty, AlarmEmail is used."
  nullable    = false
  default     = ""
}

variable "api_concurrency" {
  type        = number
  description = "The concurrency reserved for ApiFunction, which is also its maximum: callers that wait for runs can't take the concurrency of steps. It is taken from the account's concurrency. 0 reserves none."
  nullable    = false
  default     = 0
  validation {
    condition     = var.api_concurrency >= 0
    error_message = "It must be at least 0."
  }
  validation {
    condition     = var.api_concurrency <= 1000
    error_message = "It must be at most 1000."
  }
}

variable "auth" {
  type        = string
  description = "How the HTTP API authenticates callers: IAM for requests signed with AWS credentials, JWT for bearer tokens of JwtIssuer."
  nullable    = false
  default     = "IAM"
  validation {
    condition     = contains(["IAM", "JWT"], var.auth)
    error_message = "Use one of IAM, JWT."
  }
}

variable "bedrock_guardrails" {
  type        = list(string)
  description = "The ARNs of the Bedrock guardrails that agents may use, separated by commas. Empty allows none."
  nullable    = false
  default     = []
  validation {
    condition     = alltrue([for e in var.bedrock_guardrails : can(regex("^(?:(arn:[^ ]+)?)$", e))])
    error_message = "It must match (arn:[^ ]+)?."
  }
}

variable "bedrock_models" {
  type        = list(string)
  description = "The ARNs of the Bedrock models and inference profiles that agents may use, separated by commas. For a profile, add the ARN of its model in every region that it routes to. Empty allows none."
  nullable    = false
  default     = []
  validation {
    condition     = alltrue([for e in var.bedrock_models : can(regex("^(?:(arn:[^ ]+)?)$", e))])
    error_message = "It must match (arn:[^ ]+)?."
  }
}

variable "decision_concurrency" {
  type        = number
  description = "The concurrency reserved for decisions, which is also its maximum, so that nothing else in the account can hold them up. The sweep is then reserved 2. 0 reserves none for either."
  nullable    = false
  default     = 0
  validation {
    condition     = var.decision_concurrency >= 0
    error_message = "It must be at least 0."
  }
  validation {
    condition     = var.decision_concurrency <= 1000
    error_message = "It must be at most 1000."
  }
}

variable "decisions_per_second" {
  type        = number
  description = "How many decisions each tenant may send per second, over time; at once, ten times as many. Answers by links and on the console don't count. 0 is no limit."
  nullable    = false
  default     = 0
  validation {
    condition     = var.decisions_per_second >= 0
    error_message = "It must be at least 0."
  }
  validation {
    condition     = var.decisions_per_second <= 100000
    error_message = "It must be at most 100000."
  }
}

variable "deletion_protection" {
  type        = string
  description = "Whether the table is protected from deletion. Deploy a new stack with false first, because CloudFormation cannot delete a protected table if the first deploy fails."
  nullable    = false
  default     = "false"
  validation {
    condition     = contains(["true", "false"], var.deletion_protection)
    error_message = "Use one of true, false."
  }
}

variable "event_bus_name" {
  type        = string
  description = "The name of an EventBridge event bus of this account and region that gets a notice of what happens in every run of every tenant, such as default. Empty for none."
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^(?:[A-Za-z0-9/_.-]{0,256})$", var.event_bus_name))
    error_message = "It must match [A-Za-z0-9/_.-]{0,256}."
  }
}

variable "existing_table" {
  type        = string
  description = "The name of a table of this account and region, restored from a backup, that the stack uses. If empty, the stack makes its own. A table that the stack made before is kept."
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^(?:([A-Za-z0-9_.-]{3,255})?)$", var.existing_table))
    error_message = "It must match ([A-Za-z0-9_.-]{3,255})?."
  }
}

variable "held_reads" {
  type        = number
  description = "How many reads that wait for news are held at once, over time, each by an instance of ApiFunction; for some seconds, three times as many. With Auth=JWT, a tenant has a quarter. With ApiConcurrency, it is at most a quarter of that. Further reads are answered at once. 0 is no limit."
  nullable    = false
  default     = 100
  validation {
    condition     = var.held_reads >= 0
    error_message = "It must be at least 0."
  }
  validation {
    condition     = var.held_reads <= 100000
    error_message = "It must be at most 100000."
  }
}

variable "iam_roles" {
  type        = string
  description = "With Auth=IAM: the roles of callers, as ARN=ROLE,ROLE separated by semicolons, such as arn:aws:sts::123456789012:assumed-role/approver/*=decide,read. A caller that no ARN matches can only read, so if this is empty, no caller can start a run."
  nullable    = false
  default     = ""
  validation {
    condition     = length(var.iam_roles) <= 1500
    error_message = "It must have at most 1500 characters."
  }
}

variable "intake_agent" {
  type        = string
  description = "The agent that S3 and EventBridge events on the intake queue start. If empty, these services may not send to the queue, and such events are refused."
  nullable    = false
  default     = ""
  validation {
    condition     = length(var.intake_agent) <= 64
    error_message = "It must have at most 64 characters."
  }
}

variable "intake_concurrency" {
  type        = number
  description = "How many messages of the intake queue are processed at once."
  nullable    = false
  default     = 5
  validation {
    condition     = var.intake_concurrency >= 2
    error_message = "It must be at least 2."
  }
  validation {
    condition     = var.intake_concurrency <= 1000
    error_message = "It must be at most 1000."
  }
}

variable "intake_tenant" {
  type        = string
  description = "The tenant that owns the runs started from the intake queue."
  nullable    = false
  default     = "default"
  validation {
    condition     = can(regex("^(?:[a-z0-9_-]{1,63})$", var.intake_tenant))
    error_message = "It must match [a-z0-9_-]{1,63}."
  }
}

variable "jwt_audience" {
  type        = string
  description = "With Auth=JWT: the audience that tokens must have."
  nullable    = false
  default     = ""
}

variable "jwt_issuer" {
  type        = string
  description = "With Auth=JWT: the URL of the issuer, where API Gateway reads the signing keys."
  nullable    = false
  default     = ""
}

variable "kms_key_arn" {
  type        = string
  description = "The ARN of a customer managed KMS key of this region that encrypts the table, the queues, the logs and the topic of alarms. Its key policy must let CloudWatch Logs, CloudWatch, and with IntakeAgent EventBridge and S3, use it. If empty, keys of AWS encrypt them."
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^(?:(arn:[^ ]+:key/[^ *]+)?)$", var.kms_key_arn))
    error_message = "It must match (arn:[^ ]+:key/[^ *]+)?."
  }
}

variable "live_text" {
  type        = string
  description = "How often a step stores what its model has said, while someone watches the run, so that streams show text before it is committed. Nothing is stored or read while no one watches. Off shows text once it is committed."
  nullable    = false
  default     = "300ms"
  validation {
    condition     = contains(["Off", "200ms", "300ms", "500ms", "1s"], var.live_text)
    error_message = "Use one of Off, 200ms, 300ms, 500ms, 1s."
  }
}

variable "log_level" {
  type        = string
  description = "The log level of the functions. Above INFO Lambda would drop the lines that carry metrics."
  nullable    = false
  default     = "INFO"
  validation {
    condition     = contains(["DEBUG", "INFO"], var.log_level)
    error_message = "Use one of DEBUG, INFO."
  }
}

variable "log_retention_days" {
  type        = number
  description = "The days for which logs are kept."
  nullable    = false
  default     = 30
  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 180, 365, 400, 731, 1827, 3653], var.log_retention_days)
    error_message = "Use one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 180, 365, 400, 731, 1827, 3653."
  }
}

variable "monthly_budget" {
  type        = string
  description = "The dollars that the whole account may cost in a month before AlarmTopicArn or AlarmEmail hears of it: at 80 % spent, and when more than 100 % is forecast. The topic's policy must let budgets.amazonaws.com publish. 0 makes no budget."
  nullable    = false
  default     = "0"
  validation {
    condition     = can(regex("^(?:0|[1-9][0-9]{0,8})$", var.monthly_budget))
    error_message = "It must match 0|[1-9][0-9]{0,8}."
  }
}

variable "notice_kinds" {
  type        = list(string)
  description = "The kinds of notices for EventBusName and NoticeTopicArn."
  nullable    = false
  default     = ["suspended", "decided", "done", "failed"]
  validation {
    condition     = alltrue([for e in var.notice_kinds : can(regex("^(?:(suspended|decided|done|failed))$", e))])
    error_message = "It must match (suspended|decided|done|failed)."
  }
}

variable "notice_mail_from" {
  type        = string
  description = "The address that sends the notices of mail targets, and the one-time codes of links, through Amazon SES, such as desk@example.com. If empty, no mail is sent."
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^(?:([A-Za-z0-9._+-]+@[A-Za-z0-9.-]+)?)$", var.notice_mail_from))
    error_message = "It must match ([A-Za-z0-9._+-]+@[A-Za-z0-9.-]+)?."
  }
  validation {
    condition     = length(var.notice_mail_from) <= 320
    error_message = "It must have at most 320 characters."
  }
}

variable "notice_mail_identity" {
  type        = string
  description = "With NoticeMailFrom: the identity that is verified in SES, in the region of the stack: the domain of that address, such as example.com, or the address itself."
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^(?:(([A-Za-z0-9._+-]+@)?[A-Za-z0-9.-]+)?)$", var.notice_mail_identity))
    error_message = "It must match (([A-Za-z0-9._+-]+@)?[A-Za-z0-9.-]+)?."
  }
  validation {
    condition     = length(var.notice_mail_identity) <= 320
    error_message = "It must have at most 320 characters."
  }
}

variable "notice_source" {
  type        = string
  description = "The source of the events on EventBusName, by which rules match them."
  nullable    = false
  default     = "dormouse"
  validation {
    condition     = can(regex("^(?:[A-Za-z0-9._-]{1,100})$", var.notice_source))
    error_message = "It must match [A-Za-z0-9._-]{1,100}."
  }
  validation {
    condition     = length(var.notice_source) <= 100
    error_message = "It must have at most 100 characters."
  }
}

variable "notice_topic_arn" {
  type        = string
  description = "The ARN of a standard SNS topic that gets the same notices. Empty for none."
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^(?:(arn:[a-z0-9-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+)?)$", var.notice_topic_arn))
    error_message = "It must match (arn:[a-z0-9-]+:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+)?."
  }
}

variable "notify_concurrency" {
  type        = number
  description = "How many deliveries of notices run at once. An endpoint that does not answer takes up one of them for each run that it is notified of."
  nullable    = false
  default     = 10
  validation {
    condition     = var.notify_concurrency >= 2
    error_message = "It must be at least 2."
  }
  validation {
    condition     = var.notify_concurrency <= 1000
    error_message = "It must be at most 1000."
  }
}

variable "origins" {
  type        = list(string)
  description = "The sites whose pages may call the API from a browser: origins separated by commas, with scheme and host, such as https://desk.example."
  nullable    = false
  default     = []
}

variable "permissions_boundary_arn" {
  type        = string
  description = "The ARN of the policy that bounds the permissions of every role of the stack, in accounts that require one. Empty for none."
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^(?:(arn:[a-z0-9-]+:iam::[0-9]{12}:policy/[^ ]+)?)$", var.permissions_boundary_arn))
    error_message = "It must match (arn:[a-z0-9-]+:iam::[0-9]{12}:policy/[^ ]+)?."
  }
}

variable "policy" {
  type        = string
  description = "Permissions over all agents, as YAML text. Lambda limits all environment variables of a function to 4 KB in total."
  nullable    = false
  default     = ""
}

variable "prices" {
  type        = string
  description = "Prices per million tokens of models whose agents have no price, as YAML text."
  nullable    = false
  default     = ""
}

variable "private_hosts" {
  type        = string
  description = "Private hosts, addresses or networks, separated by commas, that HTTP tools, MCP servers and model endpoints may reach. To reach those of a VPC, the functions must run in it: SubnetIds."
  nullable    = false
  default     = ""
}

variable "product_name" {
  type        = string
  description = "The name of the service on the pages of approval links. The default is Dormouse."
  nullable    = false
  default     = ""
  validation {
    condition     = length(var.product_name) <= 60
    error_message = "It must have at most 60 characters."
  }
}

variable "public_url" {
  type        = string
  description = "Where people reach the HTTP API, if it has a custom domain, such as https://desk.example.com. The links of notices and the addresses for push notifications of remote agents begin with it."
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^(?:(https://[^ ?#@]+)?)$", var.public_url))
    error_message = "It must match (https://[^ ?#@]+)?."
  }
}

variable "requests_per_second" {
  type        = number
  description = "The requests per second that the HTTP API accepts, and the size of a burst. Further requests get 429."
  nullable    = false
  default     = 100
  validation {
    condition     = var.requests_per_second >= 1
    error_message = "It must be at least 1."
  }
}

variable "roles_claim" {
  type        = string
  description = "With Auth=JWT: the claim with the list of the caller's roles."
  nullable    = false
  default     = "roles"
  validation {
    condition     = length(var.roles_claim) >= 1
    error_message = "It must have at least 1 characters."
  }
  validation {
    condition     = length(var.roles_claim) <= 60
    error_message = "It must have at most 60 characters."
  }
}

variable "secrets_key_arn" {
  type        = string
  description = "With SecretsPath: the ARN of the customer managed KMS key that encrypts the parameters. If empty, the account's default key is used, which needs no permission."
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^(?:(arn:[^ ]+:key/[^ *]+)?)$", var.secrets_key_arn))
    error_message = "It must match (arn:[^ ]+:key/[^ *]+)?."
  }
}

variable "secrets_path" {
  type        = string
  description = "The path of the secrets in Parameter Store, with a slash at its end, such as /dormouse/prod/. If empty, only environment variables of the functions can be secrets."
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^(?:(/([A-Za-z0-9_.-]+/)+)?)$", var.secrets_path))
    error_message = "It must match (/([A-Za-z0-9_.-]+/)+)?."
  }
  validation {
    condition     = length(var.secrets_path) <= 60
    error_message = "It must have at most 60 characters."
  }
}

variable "security_group_ids" {
  type        = list(string)
  description = "With SubnetIds: the security groups of the functions, separated by commas."
  nullable    = false
  default     = []
  validation {
    condition     = alltrue([for e in var.security_group_ids : can(regex("^(?:(sg-[0-9a-f]+)?)$", e))])
    error_message = "It must match (sg-[0-9a-f]+)?."
  }
}

variable "shards" {
  type        = string
  description = "The partitions of the index of due work. Each takes about a thousand writes per second. The sweep reads 64 partitions in any case, so that no change of this number loses an entry."
  nullable    = false
  default     = "16"
  validation {
    condition     = contains(["16", "32", "64"], var.shards)
    error_message = "Use one of 16, 32, 64."
  }
}

variable "sign_in_client_id" {
  type        = string
  description = "With SignInIssuer: the id of this stack at the provider. The parameter OIDC_CLIENT_SECRET under SecretsPath has its secret."
  nullable    = false
  default     = ""
  validation {
    condition     = length(var.sign_in_client_id) <= 255
    error_message = "It must have at most 255 characters."
  }
}

variable "sign_in_issuer" {
  type        = string
  description = "The OpenID Connect provider at which people sign in to the console, and to answer links that require it, as its tokens name it, such as https://accounts.example.com. It must know the redirect addresses PUBLIC/signed-in and PUBLIC/v1/signed-in, where PUBLIC is PublicUrl or the output ApiUrl. Empty for none, and no console."
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^(?:(https://[^ ?#@]+)?)$", var.sign_in_issuer))
    error_message = "It must match (https://[^ ?#@]+)?."
  }
}

variable "sign_in_roles" {
  type        = string
  description = "With SignInIssuer: accounts that may sign in to the console, as rules claim:NAME=VALUE=ROLES, separated by semicolons, such as claim:groups=approvers=decide. With Auth=JWT, the roles of RolesClaim count, too."
  nullable    = false
  default     = ""
}

variable "starts_per_second" {
  type        = number
  description = "How many runs, messages, retries, interrupts, links and webhooks each tenant may send per second, over time; at once, ten times as many. Messages of the intake queue don't count. 0 is no limit."
  nullable    = false
  default     = 0
  validation {
    condition     = var.starts_per_second >= 0
    error_message = "It must be at least 0."
  }
  validation {
    condition     = var.starts_per_second <= 100000
    error_message = "It must be at most 100000."
  }
}

variable "step_concurrency" {
  type        = number
  description = "How many steps run at once. A limit protects the model's quota. With several tenants, use more than thirty, and well more than one tenant has in progress."
  nullable    = false
  default     = 10
  validation {
    condition     = var.step_concurrency >= 2
    error_message = "It must be at least 2."
  }
  validation {
    condition     = var.step_concurrency <= 1000
    error_message = "It must be at most 1000."
  }
}

variable "step_memory" {
  type        = number
  description = "The memory of the function that performs steps, in MB. Its share of a CPU grows with it. Use 256 or more for conversations above 1 MB, for many large results in one step, and for Go tools that need memory."
  nullable    = false
  default     = 128
  validation {
    condition     = contains([128, 192, 256, 384, 512, 768], var.step_memory)
    error_message = "Use one of 128, 192, 256, 384, 512, 768."
  }
}

variable "step_timeout" {
  type        = string
  description = "The seconds that one step may take, including a model call. It also limits how long a killed step blocks its run."
  nullable    = false
  default     = "300"
  validation {
    condition     = contains(["60", "120", "300", "600", "900"], var.step_timeout)
    error_message = "Use one of 60, 120, 300, 600, 900."
  }
}

variable "stream_concurrency" {
  type        = number
  description = "The concurrency reserved for event streams, so that readers and steps don't crowd each other out. It is taken from the account's concurrency, which may be too small in a new account. 0 reserves none."
  nullable    = false
  default     = 0
  validation {
    condition     = var.stream_concurrency >= 0
    error_message = "It must be at least 0."
  }
  validation {
    condition     = var.stream_concurrency <= 1000
    error_message = "It must be at most 1000."
  }
}

variable "streams" {
  type        = string
  description = "Whether events are streamed through the URL of a function. Set Off where function URLs don't exist or aren't permitted; streams then end after each event, and clients reopen them."
  nullable    = false
  default     = "On"
  validation {
    condition     = contains(["On", "Off"], var.streams)
    error_message = "Use one of On, Off."
  }
}

variable "streams_per_second" {
  type        = number
  description = "How many event streams each tenant may open per second, over time; at once, ten times as many. An open stream is opened again every two minutes. 0 is no limit."
  nullable    = false
  default     = 0
  validation {
    condition     = var.streams_per_second >= 0
    error_message = "It must be at least 0."
  }
  validation {
    condition     = var.streams_per_second <= 100000
    error_message = "It must be at most 100000."
  }
}

variable "subnet_ids" {
  type        = list(string)
  description = "The subnets of a VPC in which the functions run, separated by commas. From there they must reach DynamoDB, SQS and what agents use, by a NAT gateway or by endpoints of the VPC. If empty, they run outside of any VPC."
  nullable    = false
  default     = []
  validation {
    condition     = alltrue([for e in var.subnet_ids : can(regex("^(?:(subnet-[0-9a-f]+)?)$", e))])
    error_message = "It must match (subnet-[0-9a-f]+)?."
  }
}

variable "tenant" {
  type        = string
  description = "With Auth=IAM: the tenant to which all callers belong."
  nullable    = false
  default     = "default"
  validation {
    condition     = can(regex("^(?:[a-z0-9_-]{1,63})$", var.tenant))
    error_message = "It must match [a-z0-9_-]{1,63}."
  }
}

variable "tenant_claim" {
  type        = string
  description = "With Auth=JWT: the claim with the caller's tenant."
  nullable    = false
  default     = "tenant"
  validation {
    condition     = length(var.tenant_claim) >= 1
    error_message = "It must have at least 1 characters."
  }
  validation {
    condition     = length(var.tenant_claim) <= 60
    error_message = "It must have at most 60 characters."
  }
}

variable "tenant_day_cost" {
  type        = string
  description = "The maximum cost, in dollars, of a tenant's runs that start on one day (UTC). Empty is no limit."
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^(?:([0-9]{1,6}([.][0-9]{1,2})?)?)$", var.tenant_day_cost))
    error_message = "It must match ([0-9]{1,6}([.][0-9]{1,2})?)?."
  }
  validation {
    condition     = length(var.tenant_day_cost) <= 9
    error_message = "It must have at most 9 characters."
  }
}

variable "tenant_names" {
  type        = string
  description = "The names of tenants on the pages of approval links, as TENANT=NAME separated by semicolons. For a tenant without a name, the page shows its id."
  nullable    = false
  default     = ""
  validation {
    condition     = length(var.tenant_names) <= 500
    error_message = "It must have at most 500 characters."
  }
}

variable "tool_functions" {
  type        = list(string)
  description = "The ARNs of the Lambda functions that tools may invoke, separated by commas. If the tool has a qualifier, end the ARN in it. Empty allows none."
  nullable    = false
  default     = []
  validation {
    condition     = alltrue([for e in var.tool_functions : can(regex("^(?:(arn:[^ ]+)?)$", e))])
    error_message = "It must match (arn:[^ ]+)?."
  }
}

variable "tracing" {
  type        = string
  description = "Whether the functions send traces to X-Ray."
  nullable    = false
  default     = "Off"
  validation {
    condition     = contains(["Off", "On"], var.tracing)
    error_message = "Use one of Off, On."
  }
}

variable "undo_seconds" {
  type        = string
  description = "How many seconds people can undo an answer that they gave in the console or by a link. It takes effect after them. With 0, answers are final and take effect at once."
  nullable    = false
  default     = "8"
  validation {
    condition     = can(regex("^(?:[0-9]|[1-5][0-9]|60)$", var.undo_seconds))
    error_message = "It must match [0-9]|[1-5][0-9]|60."
  }
  validation {
    condition     = length(var.undo_seconds) <= 2
    error_message = "It must have at most 2 characters."
  }
}

variable "app_version" {
  type        = string
  description = "The version that /healthz shows. Change it whenever you change Policy, Prices, Origins, PrivateHosts, IAMRoles, ProductName, TenantNames, PublicUrl, JwtIssuer, EventBusName, SubnetIds, SecurityGroupIds, ExistingTable, Shards, HeldReads, ApiConcurrency, or a parameter whose name begins with Notice or SignIn or ends with PerSecond. Otherwise the change doesn't reach the functions. \"make deploy\" does so."
  nullable    = false
  default     = "devel"
  validation {
    condition     = length(var.app_version) <= 40
    error_message = "It must have at most 40 characters."
  }
}
