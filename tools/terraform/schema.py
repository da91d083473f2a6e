"""Prints schema.json: what the AWS provider knows of the types that kinds.go has. schema.py FOLDER, into which the npm package @cdktn/provider-aws was
unpacked (npm pack @cdktn/provider-aws@25.7.0, then tar): its classes are generated from the provider's own schema. A type that kinds.go gains is added to
TYPES."""
import json
import pathlib
import re
import sys

PACKAGE, PROVIDER = "@cdktn/provider-aws 25.7.0", "hashicorp/aws 6.66.0"
TYPES = """apigatewayv2-api apigatewayv2-authorizer apigatewayv2-integration apigatewayv2-route apigatewayv2-stage budgets-budget cloudwatch-dashboard
cloudwatch-log-group cloudwatch-metric-alarm dynamodb-table iam-policy iam-role iam-role-policy iam-role-policy-attachment lambda-alias
lambda-event-source-mapping lambda-function lambda-function-event-invoke-config lambda-function-recursion-config lambda-function-url lambda-permission
scheduler-schedule sns-topic sns-topic-subscription sqs-queue sqs-queue-policy""".split()
BODY = re.compile(r"^\s*(\w+): \{\s*value: (.*?),\s*isBlock: (true|false),\s*type: \"(\w+)\",\s*storageClassType: \"(\w+)\"", re.S | re.M)


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def read(folder):
    text, types = (folder / "index.js").read_text(), (folder / "index.d.ts").read_text()
    required = {name: {of: optional == "" for of, optional in re.findall(r"\n    readonly (\w+)(\??):", body)}
                for name, body in re.findall(r"export interface (\w+)(?: extends [\w.]+)? \{(.*?)\n\}", types, re.S)}
    blocks = dict(re.findall(r"function (\w+)ToHclTerraform\(struct\) \{.*?const attrs = \{(.*?)\n    \};", text, re.S))

    def members(body, interface, top=False):
        found = {}
        for name, value, is_block, kind, storage in BODY.findall(body):
            if top and name in ("id", "tags_all", "timeouts"):
                continue
            member = {"required": True} if interface.get(camel(name)) else {}
            of = re.search(r"(\w+)ToHclTerraform\b", re.sub("cdktn[.]", "", value))
            if is_block == "true" and of and of[1] in blocks:
                member["block"] = members(blocks[of[1]], required.get(of[1][0].upper() + of[1][1:], {}))
            else:
                member["type"] = kind if kind in ("list", "set", "map") else {"boolean": "bool"}.get(storage, storage)
            found[name] = member
        return found

    name = re.search(r"class (\w+) extends cdktn\.TerraformResource", text)[1]
    top = re.search(r"synthesizeHclAttributes\(\) \{\s*const attrs = \{(.*?)\n        \};", text, re.S)[1]
    arguments = members(top, required[name + "Config"], top=True)
    attributes = set(re.findall(r"this\.get\w+Attribute\('(\w+)'\)", text[text.index(f"class {name} extends"):]))
    return re.search(r'tfResourceType = "(\w+)"', text)[1], {"arguments": arguments, "attributes": sorted(attributes | set(arguments))}


lib = pathlib.Path(sys.argv[1]) / "package" / "lib"
schema = {"provider": PROVIDER, "from": PACKAGE, "types": dict(read(lib / name) for name in TYPES)}
print(json.dumps(schema, indent=1, sort_keys=True))
