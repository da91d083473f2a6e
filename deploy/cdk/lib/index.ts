import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CfnDeletionPolicy, CfnResource, Lazy, Stack, Token } from 'aws-cdk-lib';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { FunctionName, Parameters, Program, parameterNames } from './props';
import { Resolver, Resource, Template, Value } from './resolve';

export { FunctionName, Parameters, Program } from './props';

/** The parameters of template.yaml, and the programs to deploy. */
export interface DormouseProps extends Parameters {
  /** The directory with the release's files dormouse_VERSION_lambda_PROGRAM_arm64.zip. */
  readonly zips?: string;
  /** Programs of your own, in place of those of the release. Each has bootstrap for Linux on arm64. */
  readonly code?: { readonly [program in Program]?: lambda.Code };
}

/**
 * Deploys Dormouse with the resources and logical ids of template.yaml. A stack can have one, because
 * metrics and log groups have the stack's name. A function that changes gets a new version, so that
 * changes of all properties take effect.
 */
export class Dormouse extends Construct {
  /** The table with all durable state. */
  readonly table: dynamodb.ITable;
  /** The functions. Grants to one are added to its role. A function without resources is missing. */
  readonly functions: { readonly [name in FunctionName]?: lambda.IFunction };
  /** The queue to which jobs send requests for runs. */
  readonly intakeQueue: sqs.IQueue;
  /** The URL of the HTTP API. */
  readonly apiUrl: string;
  /** The outputs of template.yaml by name. */
  readonly outputs: { readonly [name: string]: string };
  private readonly included: CfnInclude;

  constructor(scope: Construct, id: string, props: DormouseProps) {
    super(scope, id);
    const template = JSON.parse(readFileSync(join(__dirname, '../../lib/template.json'), 'utf8')) as Template;
    const given: { [parameter: string]: Value | undefined } = { Version: ownVersion() };
    for (const [prop, parameter] of Object.entries(parameterNames)) {
      given[parameter] = (props as { [prop: string]: Value | undefined })[prop] ?? given[parameter];
    }
    const resolver = new Resolver(template, given);
    const resources = resolver.resources();
    this.placeCode(resources, props);
    this.included = include(this, { Resources: resources as unknown as Value, Outputs: resolver.outputs() as unknown as Value });

    this.outputs = Object.fromEntries(Object.keys(resolver.outputs()).map((name) => [name, Token.asString(this.included.getOutput(name).value)]));
    this.apiUrl = this.outputs.ApiUrl;
    this.table = dynamodb.Table.fromTableAttributes(this, 'TheTable', { tableName: this.outputs.TableName, grantIndexPermissions: true });
    this.intakeQueue = sqs.Queue.fromQueueArn(this, 'TheIntakeQueue', this.outputs.IntakeQueueArn);
    this.functions = this.readFunctions(resources);
    this.versionByContent(resources);
  }

  /**
   * A resource of template.yaml by its logical id, such as StepRole, for what the properties don't
   * say. Throws if these parameters don't ask for it.
   */
  resource(logicalId: string): CfnResource {
    return this.included.getResource(logicalId);
  }

  private placeCode(resources: { [id: string]: Resource }, props: DormouseProps): void {
    const placed = new Map<string, Value>();
    for (const { Type, Properties } of Object.values(resources)) {
      if (Type === 'AWS::Lambda::Function') {
        const program = (Properties!.Code as { S3Key: Program }).S3Key;
        placed.has(program) || placed.set(program, this.place(program, props));
        Properties!.Code = placed.get(program)!;
      }
    }
  }

  private place(program: Program, props: DormouseProps): Value {
    const code = props.code?.[program] ?? lambda.Code.fromAsset(zipOf(program, props.zips));
    const at = code.bind(new Construct(this, `${program}Code`)).s3Location;
    if (at === undefined) {
      throw new Error(`code of ${program}: only code in S3 can be deployed, such as lambda.Code.fromAsset`);
    }
    return { S3Bucket: at.bucketName, S3Key: at.objectKey, ...(at.objectVersion ? { S3ObjectVersion: at.objectVersion } : {}) };
  }

  private readFunctions(resources: { [id: string]: Resource }): { [name in FunctionName]?: lambda.IFunction } {
    const functions: { [name: string]: lambda.IFunction } = {};
    for (const [id, { Type, Properties }] of Object.entries(resources)) {
      if (Type === 'AWS::Lambda::Function') {
        const cfn = this.included.getResource(id) as lambda.CfnFunction;
        const name = id.replace(/Function$/, '');
        const [role] = (Properties!.Role as { 'Fn::GetAtt': [string, string] })['Fn::GetAtt'];
        functions[name.charAt(0).toLowerCase() + name.slice(1)] = lambda.Function.fromFunctionAttributes(this, `The${id}`, {
          functionArn: cfn.attrArn,
          role: iam.Role.fromRoleName(this, `The${name}Role`, this.included.getResource(role).ref),
          sameEnvironment: true,
        });
      }
    }
    return functions;
  }

  /**
   * Gives each version a logical id with a hash of its function: CloudFormation publishes a version
   * when its resource is new.
   */
  private versionByContent(resources: { [id: string]: Resource }): void {
    const stack = Stack.of(this);
    for (const [id, { Type }] of Object.entries(resources)) {
      if (Type === 'AWS::Lambda::Version') {
        const of = this.included.getResource(id.replace(/Version$/, '')) as unknown as { _toCloudFormation(): object };
        const content = () => createHash('sha256').update(JSON.stringify(stack.resolve(of._toCloudFormation()))).digest('hex');
        const version = this.included.getResource(id);
        version.cfnOptions.updateReplacePolicy = CfnDeletionPolicy.RETAIN; // as for its deletion: the CDK's validation asks for both
        version.overrideLogicalId(Lazy.uncachedString({ produce: () => id + content().slice(0, 10) }));
      }
    }
  }
}

/** Includes a template, which CfnInclude reads from a file only. */
function include(scope: Construct, template: { [section: string]: Value }): CfnInclude {
  const folder = mkdtempSync(join(tmpdir(), 'dormouse-cdk-'));
  try {
    const templateFile = join(folder, 'template.json');
    writeFileSync(templateFile, JSON.stringify(template));
    return new CfnInclude(scope, 'Template', { templateFile });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function zipOf(program: string, folder: string | undefined): string {
  if (folder === undefined) {
    throw new Error(`${program}: set zips to the directory with the release's dormouse_VERSION_lambda_*_arm64.zip`);
  }
  const found = readdirSync(folder).filter((name) => name.endsWith(`_lambda_${program}_arm64.zip`));
  if (found.length !== 1) {
    throw new Error(`${folder} has ${found.length} files dormouse_VERSION_lambda_${program}_arm64.zip; one is needed`);
  }
  return join(folder, found[0]);
}

function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8')) as { version: string };
  return version === '0.0.0' ? 'devel' : `v${version}`;
}
