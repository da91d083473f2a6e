import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sns from 'aws-cdk-lib/aws-sns';
import { Dormouse, DormouseProps } from '../lib';

const programs = ['api', 'console', 'decision', 'hook', 'intake', 'notify', 'pretraffic', 'step', 'sweep'];

/** A directory as a release has it, with these bytes as each program. */
function zips(bytes = 'program'): string {
  const folder = mkdtempSync(join(tmpdir(), 'zips-'));
  for (const program of programs) {
    writeFileSync(join(folder, `dormouse_0.1.0_lambda_${program}_arm64.zip`), bytes);
  }
  return folder;
}

const stack = () => new Stack(new App({ analyticsReporting: false }), 'try');

function synthesized(props: DormouseProps): Template {
  const s = stack();
  new Dormouse(s, 'Dormouse', { zips: zips(), ...props });
  return Template.fromStack(s);
}

const version = (t: Template, id: string) => Object.keys(t.findResources('AWS::Lambda::Version')).find((name) => name.startsWith(id));

test('parameters may be attributes of other resources of the app', () => {
  const s = stack();
  const vpc = new ec2.Vpc(s, 'Vpc');
  const key = new kms.Key(s, 'Key');
  new Dormouse(s, 'Dormouse', {
    zips: zips(),
    alarmTopicArn: new sns.Topic(s, 'Alarms').topicArn,
    kmsKeyArn: key.keyArn,
    subnetIds: vpc.privateSubnets.map((subnet) => subnet.subnetId),
    securityGroupIds: [new ec2.SecurityGroup(s, 'Group', { vpc }).securityGroupId],
  });
  const t = Template.fromStack(s);
  const [topic] = Object.keys(t.findResources('AWS::SNS::Topic'));
  const [made] = Object.keys(t.findResources('AWS::KMS::Key'));
  t.hasResourceProperties('AWS::CloudWatch::Alarm', { AlarmActions: [{ Ref: topic }] });
  t.resourcePropertiesCountIs('AWS::SQS::Queue', { KmsMasterKeyId: { 'Fn::GetAtt': [made, 'Arn'] }, SqsManagedSseEnabled: false }, 7);
  assert.equal(t.findResources('AWS::Lambda::Function').StepFunction.Properties.VpcConfig.SubnetIds.length, vpc.privateSubnets.length);
});

test('what decides what is deployed must be known', () => {
  const s = stack();
  const topic = new sns.Topic(s, 'Topic');
  assert.throws(() => new Dormouse(s, 'Dormouse', { zips: zips(), streams: topic.topicName as 'On' }), /Streams must be known/);
});

test('values that the template refuses are refused when the app is synthesized', () => {
  assert.throws(() => synthesized({ tenant: 'Not Lower' }), /Tenant is "Not Lower"; it must match/);
  assert.throws(() => synthesized({ stepConcurrency: 1 }), /StepConcurrency is 1; it must be from 2 to 1000/);
  assert.throws(() => synthesized({ auth: 'none' as 'IAM' }), /Auth is "none"; use one of IAM, JWT/);
  assert.throws(() => synthesized({ auth: 'JWT' }), /Auth=JWT needs JwtIssuer/);
  assert.throws(() => synthesized({ zips: undefined }), /set zips to the directory/);
  assert.throws(() => synthesized({ zips: mkdtempSync(join(tmpdir(), 'zips-')) }), /has 0 files dormouse_VERSION_lambda_api_arm64.zip/);
});

test('a changed policy, and a changed program, publish a version', () => {
  const before = synthesized({});
  assert.equal(version(before, 'StepFunctionVersion'), version(synthesized({}), 'StepFunctionVersion'));
  assert.notEqual(version(before, 'StepFunctionVersion'), version(synthesized({ policy: 'deny: [pay]' }), 'StepFunctionVersion'));
  assert.notEqual(version(before, 'ApiFunctionVersion'), version(synthesized({ zips: zips('newer') }), 'ApiFunctionVersion'));
});

test('functions and the table take grants, and other resources are there by their ids', () => {
  const s = stack();
  const d = new Dormouse(s, 'Dormouse', { zips: zips() });
  const tool = new lambda.Function(s, 'Tool', { runtime: lambda.Runtime.NODEJS_LATEST, handler: 'index.handler', code: lambda.Code.fromInline('exports.handler = () => {}') });
  tool.grantInvoke(d.functions.step!);
  d.table.grantReadData(new iam.Role(s, 'Reader', { assumedBy: new iam.AccountRootPrincipal() }));
  d.intakeQueue.grantSendMessages(tool);
  d.resource('WakeQueue').addPropertyOverride('MessageRetentionPeriod', 600);
  const t = Template.fromStack(s);
  t.hasResourceProperties('AWS::IAM::Policy', { Roles: [{ Ref: 'StepRole' }] });
  t.hasResourceProperties('AWS::SQS::Queue', { MessageRetentionPeriod: 600 });
  assert.equal(d.functions.console, undefined);
  assert.throws(() => d.resource('ConsoleFunction'), /was not found/);
});
