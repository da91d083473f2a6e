"""Makes change sets of a translated template on the LocalStack at ENDPOINT: localstack_changeset.py ENDPOINT TEMPLATE.json. LocalStack resolves references,
conditions, mappings and parameters with code that others wrote. Fails if it refuses the template, if a change set doesn't have just the resources whose
conditions hold, or if it accepts one that is broken on purpose. Nothing is created."""
import copy
import json
import sys
import time

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

endpoint, path = sys.argv[1:]
config = Config(region_name="us-east-1", retries={"max_attempts": 0}, read_timeout=120, s3={"addressing_style": "path"})
session = boto3.session.Session("test", "test")
cloud = session.client("cloudformation", endpoint_url=endpoint, config=config)
s3 = session.client("s3", endpoint_url=endpoint, config=config)
with open(path) as file:
    template = json.load(file)


def change_set(name, made, parameters):
    """The resources of a change set, or the reason why there is none."""
    s3.put_object(Bucket="templates", Key=name, Body=json.dumps(made))
    try:
        id = cloud.create_change_set(
            StackName=name, ChangeSetName="referee", ChangeSetType="CREATE", Capabilities=["CAPABILITY_IAM"], TemplateURL=f"{endpoint}/templates/{name}",
            Parameters=[{"ParameterKey": k, "ParameterValue": v} for k, v in parameters.items()])["Id"]
        found = cloud.describe_change_set(ChangeSetName=id)
        for _ in range(600):
            if found["Status"] in ("CREATE_COMPLETE", "FAILED"):
                break
            time.sleep(0.1)
            found = cloud.describe_change_set(ChangeSetName=id)
        changes = found["Changes"] if "Changes" in found else []
        while found.get("NextToken"):
            found = cloud.describe_change_set(ChangeSetName=id, NextToken=found["NextToken"])
            changes += found["Changes"]
    except ClientError as refused:
        return [], str(refused)
    if found["Status"] != "CREATE_COMPLETE":
        return [], f'{found["Status"]}: {found.get("StatusReason", "no reason given")}'
    return sorted(c["ResourceChange"]["LogicalResourceId"] for c in changes), None


def no_alias(made):
    made["Resources"]["ApiIntegration"]["Properties"]["IntegrationUri"] = {"Ref": "ApiFunctionAliasgone"}


def no_key(made):
    made["Mappings"]["StepSeconds"].pop("300")


def no_condition(made):
    made["Resources"]["JwtAuthorizer"]["Condition"] = "Missing"


def no_output(made):
    made["Outputs"]["ApiUrl"]["Value"] = {"Fn::GetAtt": ["HttpApiGone", "ApiEndpoint"]}


iam = {"Auth": "IAM"}
jwt = {"Auth": "JWT", "JwtIssuer": "https://issuer.example", "JwtAudience": "dormouse", "AlarmEmail": "ops@example.com", "IntakeAgent": "desk", "StepTimeout": "900"}
# Stacks with the conditions of resources that hold in them, and templates that must be refused.
strict = {"Auth": "IAM", "Streams": "Off", "SubnetIds": "subnet-0a,subnet-0b", "SecurityGroupIds": "sg-0c", "KmsKeyArn": "arn:aws:kms:us-east-1:000000000000:key/1",
          "PermissionsBoundaryArn": "arn:aws:iam::000000000000:policy/bound", "DecisionConcurrency": "20", "ExistingTable": "restored", "MonthlyBudget": "50", "AlarmTopicArn": "arn:aws:sns:us-east-1:000000000000:ops"}
console = {"Auth": "IAM", "SignInIssuer": "https://issuer.example", "SignInClientId": "desk", "SecretsPath": "/desk/"}
off = {"Jwt": False, "MakesTopic": False, "TakesEvents": False, "HasStreams": True, "HasKey": False, "InVpc": False, "HasConsole": False, "MakesTable": True, "HasBudget": False}
stacks = [("iam", iam, off), ("jwt", jwt, off | {"Jwt": True, "MakesTopic": True, "TakesEvents": True}),
          ("strict", strict, off | {"HasStreams": False, "HasKey": True, "InVpc": True, "MakesTable": False, "HasBudget": True}), ("console", console, off | {"HasConsole": True})]
broken = [no_alias, no_key, no_condition, no_output]

s3.create_bucket(Bucket="templates")
wrong = []
conditions = {r["Condition"] for r in template["Resources"].values() if "Condition" in r}
for name, parameters, holds in stacks:
    if conditions != set(holds):
        sys.exit(f"resources have the conditions {sorted(conditions)}; say in this file which of them hold in the stack {name}")
    got, reason = change_set(name, template, parameters)
    want = sorted(id for id, r in template["Resources"].items() if holds.get(r.get("Condition"), True))
    print(f"-- {name}: {len(got)} resources, want {len(want)}" + (f"; refused: {reason}" if reason else ""))
    if got != want:
        wrong.append(f"{name}: differs in {sorted(set(got) ^ set(want))}")
for breaks in broken:
    made = copy.deepcopy(template)
    breaks(made)
    _, reason = change_set(breaks.__name__.replace("_", "-"), made, iam)
    print(f"-- {breaks.__name__}: {(reason or 'ACCEPTED')[:200]}")
    if not reason:
        wrong.append(f"a broken template is accepted: {breaks.__name__}")
for line in wrong:
    print(line)
print(f"localstack: {len(stacks)} stacks and {len(broken)} broken ones, {len(wrong)} wrong")
sys.exit(len(wrong) > 0)
