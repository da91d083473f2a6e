"""Prints what AWS makes of a SAM template, as JSON. Standard input is a JSON object: "template" is the template with its short forms written out,
"parameters" are the values that differ from its defaults. Code that lies on this machine becomes an S3 address whose key is the path, as `sam package`
would make it."""
import json
import os
import sys

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
import boto3  # noqa: E402
from samtranslator.model.exceptions import InvalidDocumentException  # noqa: E402
from samtranslator.parser.parser import Parser  # noqa: E402
from samtranslator.translator.translator import Translator  # noqa: E402


def main(template, parameters):
    everywhere = template.get("Globals", {}).get("Function", {})
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            properties = resource["Properties"]
            code = properties.get("CodeUri") or everywhere.get("CodeUri")
            if isinstance(code, str) and not code.startswith("s3://"):
                properties["CodeUri"] = "s3://local/" + os.path.normpath(code)
    translator = Translator({}, Parser(), boto_session=boto3.session.Session(region_name=os.environ["AWS_DEFAULT_REGION"]))
    try:
        cloud = translator.translate(template, parameters)  # which adds the defaults of the template
    except InvalidDocumentException as wrong:
        sys.exit("\n".join([wrong.message, *(cause.message for cause in wrong.causes)]))
    sys.stdout.buffer.write(json.dumps(cloud, ensure_ascii=False).encode())


main(**json.loads(sys.stdin.buffer.read()))
