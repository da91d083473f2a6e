"""Prints what cfn-lint, checkov and parliament find in a template and the file of accepted findings doesn't name: scan_template.py TEMPLATE ACCEPTED.
Fails if there is any, if an accepted one is no longer found, or if a tool found nothing to look at."""
import json
import re
import subprocess
import sys

import yaml
from parliament import analyze_policy_string

template_path, accepted_path = sys.argv[1:]


class Loader(yaml.SafeLoader):
    """Reads the short forms of CloudFormation's functions as their long ones."""


def function(loader, tag, node):
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    return {tag if tag in ("Ref", "Condition") else "Fn::" + tag: value}


Loader.add_multi_constructor("!", function)
with open(template_path) as file:
    template = yaml.load(file, Loader)
resources = template["Resources"]

# What a reference is in some deployment. Parliament matches actions against the form of their ARNs.
PSEUDO = {"AWS::Partition": "aws", "AWS::Region": "eu-central-1", "AWS::AccountId": "123456789012", "AWS::StackName": "desk"}
SAMPLES = {"SecretsPath": "/dormouse/prod/", "NoticeMailIdentity": "example.com", "NoticeMailFrom": "desk@example.com", "EventBusName": "default",
           "SecretsKeyArn": "arn:aws:kms:eu-central-1:123456789012:key/1", "KmsKeyArn": "arn:aws:kms:eu-central-1:123456789012:key/2",
           "NoticeTopicArn": "arn:aws:sns:eu-central-1:123456789012:notices", "ToolFunctions": ["arn:aws:lambda:eu-central-1:123456789012:function:tool"],
           "BedrockModels": ["arn:aws:bedrock:eu-central-1::foundation-model/model", "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/profile"],
           "BedrockGuardrails": ["arn:aws:bedrock:eu-central-1:123456789012:guardrail/guard"],
           "ServerlessDeploymentApplication": "desk-ServerlessDeploymentApplication-1"}  # which SAM makes
ARNS = {"AWS::DynamoDB::Table": "dynamodb:eu-central-1:123456789012:table/", "AWS::SQS::Queue": "sqs:eu-central-1:123456789012:",
        "AWS::Logs::LogGroup": "logs:eu-central-1:123456789012:log-group:", "AWS::Serverless::Function": "lambda:eu-central-1:123456789012:function:"}


def reference(name):
    if name.endswith(".Arn"):
        name = name.removesuffix(".Arn")
        kind = resources[name]["Type"]
        return "arn:aws:" + ARNS[kind] + name + (":log-stream:stream" if kind == "AWS::Logs::LogGroup" else "")
    if resources.get(name, {}).get("Type") == "AWS::DynamoDB::Table":
        return name
    return PSEUDO.get(name) or SAMPLES[name]


def resolved(value):
    """A part of the template as it is where every condition holds."""
    if isinstance(value, list):
        return [one for one in map(resolved, value) if one is not None]
    if not isinstance(value, dict):
        return value
    if value == {"Ref": "AWS::NoValue"}:
        return None
    if len(value) == 1:
        (name, argument), = value.items()
        if name == "Ref":
            return reference(argument)
        if name == "Fn::GetAtt":
            return reference(argument)
        if name == "Fn::Sub":
            text, own = argument if isinstance(argument, list) else (argument, {})
            return re.sub(r"\$\{([^}]+)\}", lambda found: resolved(own[found[1]]) if found[1] in own else reference(found[1]), text)
        if name == "Fn::If":
            return resolved(argument[1])
    return {name: resolved(one) for name, one in value.items()}


def cfn_lint():
    run = subprocess.run(["cfn-lint", "--include-experimental", "--include-checks", "I", "--format", "json", "--", template_path], capture_output=True, text=True)
    if run.returncode not in range(0, 16) or (run.stderr and not run.stdout):
        sys.exit(f"scan: cfn-lint: {run.stderr or run.stdout}")
    for found in json.loads(run.stdout or "[]"):
        place = found["Location"].get("Path") or []
        yield found["Rule"]["Id"], str(place[1]) if len(place) > 1 and place[0] == "Resources" else "-", found["Message"][:200]


def checkov():
    run = subprocess.run(["checkov", "--file", template_path, "--framework", "cloudformation", "--skip-download", "--output", "json"], capture_output=True, text=True)
    try:
        report = json.loads(run.stdout)
    except ValueError:
        sys.exit(f"scan: checkov: {run.stderr or run.stdout}")
    if report["summary"]["passed"] < 100 or report["summary"]["parsing_errors"]:
        sys.exit(f"scan: checkov looked at too little: {report['summary']}")
    for found in report["results"]["failed_checks"]:
        yield found["check_id"], found["resource"].split(".")[-1], found["check_name"]


def parliament():
    looked = 0
    for name, resource in resources.items():
        if resource["Type"] not in ("AWS::IAM::Role", "AWS::IAM::ManagedPolicy"):
            continue
        properties = resource["Properties"]
        for policy in properties.get("Policies", []) or ([properties] if "PolicyDocument" in properties else []):
            looked += 1
            for found in analyze_policy_string(json.dumps(resolved(policy["PolicyDocument"]))).findings:
                yield found.issue, name, f"{found.detail or ''} {json.dumps(found.location.get('string', '')) if found.location else ''}"[:300]
    if looked < 9:
        sys.exit(f"scan: parliament looked at {looked} policies, and there are more")


accepted = {}
with open(accepted_path) as file:
    for number, line in enumerate(file, 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.rstrip("\n").split(" ", 3)
        if len(fields) != 4:
            sys.exit(f"{accepted_path}:{number}: write TOOL RULE PLACE REASON, with PLACE * for any")
        accepted[tuple(fields[:3])] = False

wrong = counted = 0
for tool in (cfn_lint, checkov, parliament):
    found = list(tool())
    for rule, place, text in found:
        counted += 1
        names = [(tool.__name__, rule, place), (tool.__name__, rule, "*")]
        known = [name for name in names if name in accepted]
        for name in known:
            accepted[name] = True
        if not known:
            wrong += 1
            if wrong <= 40:
                print(f"{tool.__name__} {rule} {place}: {text}")
for name, seen in accepted.items():
    if not seen:
        wrong += 1
        print(f"{accepted_path}: {' '.join(name)} is no longer found; remove the line")
print(f"scan: {counted} findings; {wrong} to look at")
sys.exit(wrong > 0)
