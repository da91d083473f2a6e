// Generated from template.yaml by .ci/ways update; do not edit.

/** A function of template.yaml. */
export type FunctionName = 'api' | 'console' | 'decision' | 'hook' | 'intake' | 'notify' | 'preTraffic' | 'step' | 'stream' | 'sweep';

/** A program that functions run; each is a zip of the release. */
export type Program = 'api' | 'console' | 'decision' | 'hook' | 'intake' | 'notify' | 'pretraffic' | 'step' | 'sweep';

/** The parameters of template.yaml. */
export interface Parameters {
  /**
   * Without AlarmTopicArn: the email address that receives alarms, through a topic that the stack
   * creates. If both are empty, alarms notify no one.
   *
   * @default ''
   */
  readonly alarmEmail?: string;
  /**
   * The ARN of the SNS topic that receives alarms. If empty, AlarmEmail is used.
   *
   * @default ''
   */
  readonly alarmTopicArn?: string;
  /**
   * The concurrency reserved for ApiFunction, which is also its maximum: callers that wait for runs
   * can't take the concurrency of steps. It is taken from the account's concurrency. 0 reserves
   * none.
   *
   * @default 0
   */
  readonly apiConcurrency?: number;
  /**
   * How the HTTP API authenticates callers: IAM for requests signed with AWS credentials, JWT for
   * bearer tokens of JwtIssuer.
   *
   * @default 'IAM'
   */
  readonly auth?: 'IAM' | 'JWT';
  /**
   * The ARNs of the Bedrock guardrails that agents may use, separated by commas. Empty allows none.
   *
   * @default []
   */
  readonly bedrockGuardrails?: string[];
  /**
   * The ARNs of the Bedrock models and inference profiles that agents may use, separated by commas.
   * For a profile, add the ARN of its model in every region that it routes to. Empty allows none.
   *
   * @default []
   */
  readonly bedrockModels?: string[];
  /**
   * The concurrency reserved for decisions, which is also its maximum, so that nothing else in the
   * account can hold them up. The sweep is then reserved 2. 0 reserves none for either.
   *
   * @default 0
   */
  readonly decisionConcurrency?: number;
  /**
   * How many decisions each tenant may send per second, over time; at once, ten times as many.
   * Answers by links and on the console don't count. 0 is no limit.
   *
   * @default 0
   */
  readonly decisionsPerSecond?: number;
  /**
   * Whether the table is protected from deletion. Deploy a new stack with false first, because
   * CloudFormation cannot delete a protected table if the first deploy fails.
   *
   * @default 'false'
   */
  readonly deletionProtection?: 'true' | 'false';
  /**
   * The name of an EventBridge event bus of this account and region that gets a notice of what
   * happens in every run of every tenant, such as default. Empty for none.
   *
   * @default ''
   */
  readonly eventBusName?: string;
  /**
   * The name of a table of this account and region, restored from a backup, that the stack uses. If
   * empty, the stack makes its own. A table that the stack made before is kept.
   *
   * @default ''
   */
  readonly existingTable?: string;
  /**
   * How many reads that wait for news are held at once, over time, each by an instance of
   * ApiFunction; for some seconds, three times as many. With Auth=JWT, a tenant has a quarter. With
   * ApiConcurrency, it is at most a quarter of that. Further reads are answered at once. 0 is no
   * limit.
   *
   * @default 100
   */
  readonly heldReads?: number;
  /**
   * With Auth=IAM: the roles of callers, as ARN=ROLE,ROLE separated by semicolons, such as
   * arn:aws:sts::123456789012:assumed-role/approver/*=decide,read. A caller that no ARN matches can
   * only read, so if this is empty, no caller can start a run.
   *
   * @default ''
   */
  readonly iamRoles?: string;
  /**
   * The agent that S3 and EventBridge events on the intake queue start. If empty, these services
   * may not send to the queue, and such events are refused.
   *
   * @default ''
   */
  readonly intakeAgent?: string;
  /**
   * How many messages of the intake queue are processed at once.
   *
   * @default 5
   */
  readonly intakeConcurrency?: number;
  /**
   * The tenant that owns the runs started from the intake queue.
   *
   * @default 'default'
   */
  readonly intakeTenant?: string;
  /**
   * With Auth=JWT: the audience that tokens must have.
   *
   * @default ''
   */
  readonly jwtAudience?: string;
  /**
   * With Auth=JWT: the URL of the issuer, where API Gateway reads the signing keys.
   *
   * @default ''
   */
  readonly jwtIssuer?: string;
  /**
   * The ARN of a customer managed KMS key of this region that encrypts the table, the queues, the
   * logs and the topic of alarms. Its key policy must let CloudWatch Logs, CloudWatch, and with
   * IntakeAgent EventBridge and S3, use it. If empty, keys of AWS encrypt them.
   *
   * @default ''
   */
  readonly kmsKeyArn?: string;
  /**
   * How often a step stores what its model has said, while someone watches the run, so that streams
   * show text before it is committed. Nothing is stored or read while no one watches. Off shows
   * text once it is committed.
   *
   * @default '300ms'
   */
  readonly liveText?: 'Off' | '200ms' | '300ms' | '500ms' | '1s';
  /**
   * The log level of the functions. Above INFO Lambda would drop the lines that carry metrics.
   *
   * @default 'INFO'
   */
  readonly logLevel?: 'DEBUG' | 'INFO';
  /**
   * The days for which logs are kept.
   *
   * @default 30
   */
  readonly logRetentionDays?: 1 | 3 | 5 | 7 | 14 | 30 | 60 | 90 | 120 | 180 | 365 | 400 | 731 | 1827 | 3653;
  /**
   * The dollars that the whole account may cost in a month before AlarmTopicArn or AlarmEmail hears
   * of it: at 80 % spent, and when more than 100 % is forecast. The topic's policy must let
   * budgets.amazonaws.com publish. 0 makes no budget.
   *
   * @default '0'
   */
  readonly monthlyBudget?: string;
  /**
   * The kinds of notices for EventBusName and NoticeTopicArn.
   *
   * @default ['suspended', 'decided', 'done', 'failed']
   */
  readonly noticeKinds?: string[];
  /**
   * The address that sends the notices of mail targets, and the one-time codes of links, through
   * Amazon SES, such as desk@example.com. If empty, no mail is sent.
   *
   * @default ''
   */
  readonly noticeMailFrom?: string;
  /**
   * With NoticeMailFrom: the identity that is verified in SES, in the region of the stack: the
   * domain of that address, such as example.com, or the address itself.
   *
   * @default ''
   */
  readonly noticeMailIdentity?: string;
  /**
   * The source of the events on EventBusName, by which rules match them.
   *
   * @default 'dormouse'
   */
  readonly noticeSource?: string;
  /**
   * The ARN of a standard SNS topic that gets the same notices. Empty for none.
   *
   * @default ''
   */
  readonly noticeTopicArn?: string;
  /**
   * How many deliveries of notices run at once. An endpoint that does not answer takes up one of
   * them for each run that it is notified of.
   *
   * @default 10
   */
  readonly notifyConcurrency?: number;
  /**
   * The sites whose pages may call the API from a browser: origins separated by commas, with scheme
   * and host, such as https://desk.example.
   *
   * @default []
   */
  readonly origins?: string[];
  /**
   * The ARN of the policy that bounds the permissions of every role of the stack, in accounts that
   * require one. Empty for none.
   *
   * @default ''
   */
  readonly permissionsBoundaryArn?: string;
  /**
   * Permissions over all agents, as YAML text. Lambda limits all environment variables of a
   * function to 4 KB in total.
   *
   * @default ''
   */
  readonly policy?: string;
  /**
   * Prices per million tokens of models whose agents have no price, as YAML text.
   *
   * @default ''
   */
  readonly prices?: string;
  /**
   * Private hosts, addresses or networks, separated by commas, that HTTP tools, MCP servers and
   * model endpoints may reach. To reach those of a VPC, the functions must run in it: SubnetIds.
   *
   * @default ''
   */
  readonly privateHosts?: string;
  /**
   * The name of the service on the pages of approval links. The default is Dormouse.
   *
   * @default ''
   */
  readonly productName?: string;
  /**
   * Where people reach the HTTP API, if it has a custom domain, such as https://desk.example.com.
   * The links of notices and the addresses for push notifications of remote agents begin with it.
   *
   * @default ''
   */
  readonly publicUrl?: string;
  /**
   * The requests per second that the HTTP API accepts, and the size of a burst. Further requests
   * get 429.
   *
   * @default 100
   */
  readonly requestsPerSecond?: number;
  /**
   * With Auth=JWT: the claim with the list of the caller's roles.
   *
   * @default 'roles'
   */
  readonly rolesClaim?: string;
  /**
   * How a new version of ApiFunction, DecisionFunction, HookFunction, StepFunction, IntakeFunction
   * and NotifyFunction takes over: at once, or with a tenth of the calls for five minutes. A canary
   * is rolled back if the function's alarm fires.
   *
   * @default 'AllAtOnce'
   */
  readonly rollout?: 'AllAtOnce' | 'Canary10Percent5Minutes';
  /**
   * With SecretsPath: the ARN of the customer managed KMS key that encrypts the parameters. If
   * empty, the account's default key is used, which needs no permission.
   *
   * @default ''
   */
  readonly secretsKeyArn?: string;
  /**
   * The path of the secrets in Parameter Store, with a slash at its end, such as /dormouse/prod/.
   * If empty, only environment variables of the functions can be secrets.
   *
   * @default ''
   */
  readonly secretsPath?: string;
  /**
   * With SubnetIds: the security groups of the functions, separated by commas.
   *
   * @default []
   */
  readonly securityGroupIds?: string[];
  /**
   * The partitions of the index of due work. Each takes about a thousand writes per second. The
   * sweep reads 64 partitions in any case, so that no change of this number loses an entry.
   *
   * @default '16'
   */
  readonly shards?: '16' | '32' | '64';
  /**
   * With SignInIssuer: the id of this stack at the provider. The parameter OIDC_CLIENT_SECRET under
   * SecretsPath has its secret.
   *
   * @default ''
   */
  readonly signInClientId?: string;
  /**
   * The OpenID Connect provider at which people sign in to the console, and to answer links that
   * require it, as its tokens name it, such as https://accounts.example.com. It must know the
   * redirect addresses PUBLIC/signed-in and PUBLIC/v1/signed-in, where PUBLIC is PublicUrl or the
   * output ApiUrl. Empty for none, and no console.
   *
   * @default ''
   */
  readonly signInIssuer?: string;
  /**
   * With SignInIssuer: accounts that may sign in to the console, as rules claim:NAME=VALUE=ROLES,
   * separated by semicolons, such as claim:groups=approvers=decide. With Auth=JWT, the roles of
   * RolesClaim count, too.
   *
   * @default ''
   */
  readonly signInRoles?: string;
  /**
   * How many runs, messages, retries, interrupts, links and webhooks each tenant may send per
   * second, over time; at once, ten times as many. Messages of the intake queue don't count. 0 is
   * no limit.
   *
   * @default 0
   */
  readonly startsPerSecond?: number;
  /**
   * How many steps run at once. A limit protects the model's quota. With several tenants, use more
   * than thirty, and well more than one tenant has in progress.
   *
   * @default 10
   */
  readonly stepConcurrency?: number;
  /**
   * The memory of the function that performs steps, in MB. Its share of a CPU grows with it. Use
   * 256 or more for conversations above 1 MB, for many large results in one step, and for Go tools
   * that need memory.
   *
   * @default 128
   */
  readonly stepMemory?: 128 | 192 | 256 | 384 | 512 | 768;
  /**
   * The seconds that one step may take, including a model call. It also limits how long a killed
   * step blocks its run.
   *
   * @default '300'
   */
  readonly stepTimeout?: '60' | '120' | '300' | '600' | '900';
  /**
   * The concurrency reserved for event streams, so that readers and steps don't crowd each other
   * out. It is taken from the account's concurrency, which may be too small in a new account. 0
   * reserves none.
   *
   * @default 0
   */
  readonly streamConcurrency?: number;
  /**
   * Whether events are streamed through the URL of a function. Set Off where function URLs don't
   * exist or aren't permitted; streams then end after each event, and clients reopen them.
   *
   * @default 'On'
   */
  readonly streams?: 'On' | 'Off';
  /**
   * How many event streams each tenant may open per second, over time; at once, ten times as many.
   * An open stream is opened again every two minutes. 0 is no limit.
   *
   * @default 0
   */
  readonly streamsPerSecond?: number;
  /**
   * The subnets of a VPC in which the functions run, separated by commas. From there they must
   * reach DynamoDB, SQS and what agents use, by a NAT gateway or by endpoints of the VPC. If empty,
   * they run outside of any VPC.
   *
   * @default []
   */
  readonly subnetIds?: string[];
  /**
   * With Auth=IAM: the tenant to which all callers belong.
   *
   * @default 'default'
   */
  readonly tenant?: string;
  /**
   * With Auth=JWT: the claim with the caller's tenant.
   *
   * @default 'tenant'
   */
  readonly tenantClaim?: string;
  /**
   * The maximum cost, in dollars, of a tenant's runs that start on one day (UTC). Empty is no
   * limit.
   *
   * @default ''
   */
  readonly tenantDayCost?: string;
  /**
   * The names of tenants on the pages of approval links, as TENANT=NAME separated by semicolons.
   * For a tenant without a name, the page shows its id.
   *
   * @default ''
   */
  readonly tenantNames?: string;
  /**
   * The ARNs of the Lambda functions that tools may invoke, separated by commas. If the tool has a
   * qualifier, end the ARN in it. Empty allows none.
   *
   * @default []
   */
  readonly toolFunctions?: string[];
  /**
   * Whether the functions send traces to X-Ray.
   *
   * @default 'Off'
   */
  readonly tracing?: 'Off' | 'On';
  /**
   * How many seconds people can undo an answer that they gave in the console or by a link. It takes
   * effect after them. With 0, answers are final and take effect at once.
   *
   * @default '8'
   */
  readonly undoSeconds?: string;
  /**
   * The version that /healthz shows. Change it whenever you change Policy, Prices, Origins,
   * PrivateHosts, IAMRoles, ProductName, TenantNames, PublicUrl, JwtIssuer, EventBusName,
   * SubnetIds, SecurityGroupIds, ExistingTable, Shards, HeldReads, ApiConcurrency, or a parameter
   * whose name begins with Notice or SignIn or ends with PerSecond. Otherwise the change doesn't
   * reach the functions. "make deploy" does so.
   *
   * @default the version of this package
   */
  readonly version?: string;
}

/** The parameter that a property sets. */
export const parameterNames = {
  alarmEmail: 'AlarmEmail',
  alarmTopicArn: 'AlarmTopicArn',
  apiConcurrency: 'ApiConcurrency',
  auth: 'Auth',
  bedrockGuardrails: 'BedrockGuardrails',
  bedrockModels: 'BedrockModels',
  decisionConcurrency: 'DecisionConcurrency',
  decisionsPerSecond: 'DecisionsPerSecond',
  deletionProtection: 'DeletionProtection',
  eventBusName: 'EventBusName',
  existingTable: 'ExistingTable',
  heldReads: 'HeldReads',
  iamRoles: 'IAMRoles',
  intakeAgent: 'IntakeAgent',
  intakeConcurrency: 'IntakeConcurrency',
  intakeTenant: 'IntakeTenant',
  jwtAudience: 'JwtAudience',
  jwtIssuer: 'JwtIssuer',
  kmsKeyArn: 'KmsKeyArn',
  liveText: 'LiveText',
  logLevel: 'LogLevel',
  logRetentionDays: 'LogRetentionDays',
  monthlyBudget: 'MonthlyBudget',
  noticeKinds: 'NoticeKinds',
  noticeMailFrom: 'NoticeMailFrom',
  noticeMailIdentity: 'NoticeMailIdentity',
  noticeSource: 'NoticeSource',
  noticeTopicArn: 'NoticeTopicArn',
  notifyConcurrency: 'NotifyConcurrency',
  origins: 'Origins',
  permissionsBoundaryArn: 'PermissionsBoundaryArn',
  policy: 'Policy',
  prices: 'Prices',
  privateHosts: 'PrivateHosts',
  productName: 'ProductName',
  publicUrl: 'PublicUrl',
  requestsPerSecond: 'RequestsPerSecond',
  rolesClaim: 'RolesClaim',
  rollout: 'Rollout',
  secretsKeyArn: 'SecretsKeyArn',
  secretsPath: 'SecretsPath',
  securityGroupIds: 'SecurityGroupIds',
  shards: 'Shards',
  signInClientId: 'SignInClientId',
  signInIssuer: 'SignInIssuer',
  signInRoles: 'SignInRoles',
  startsPerSecond: 'StartsPerSecond',
  stepConcurrency: 'StepConcurrency',
  stepMemory: 'StepMemory',
  stepTimeout: 'StepTimeout',
  streamConcurrency: 'StreamConcurrency',
  streams: 'Streams',
  streamsPerSecond: 'StreamsPerSecond',
  subnetIds: 'SubnetIds',
  tenant: 'Tenant',
  tenantClaim: 'TenantClaim',
  tenantDayCost: 'TenantDayCost',
  tenantNames: 'TenantNames',
  toolFunctions: 'ToolFunctions',
  tracing: 'Tracing',
  undoSeconds: 'UndoSeconds',
  version: 'Version',
} as const;
