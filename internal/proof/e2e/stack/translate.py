"""Prints what AWS makes of a SAM template: translate.py TEMPLATE PARAMETERS, the parameters as a JSON object. Code that lies on this
machine becomes an S3 address whose key is the path, as `sam package` would make it."""
import json
import os
import sys

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
import boto3  # noqa: E402
from samtranslator.model.exceptions import InvalidDocumentException  # noqa: E402
from samtranslator.parser.parser import Parser  # noqa: E402
from samtranslator.translator.translator import Translator  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402


def main(path, parameters):
    with open(path, encoding="utf-8") as file:
        template = yaml_parse(file.read())
    everywhere = template.get("Globals", {}).get("Function", {})
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            properties = resource["Properties"]
            code = properties.get("CodeUri") or everywhere.get("CodeUri")
            if isinstance(code, str) and not code.startswith("s3://"):
                properties["CodeUri"] = "s3://local/" + os.path.normpath(code)
    known = {name: p["Default"] for name, p in template.get("Parameters", {}).items() if "Default" in p}
    known.update(parameters)
    translator = Translator({}, Parser(), boto_session=boto3.session.Session(region_name=os.environ["AWS_DEFAULT_REGION"]))
    try:
        print(json.dumps(translator.translate(template, known)))
    except InvalidDocumentException as wrong:
        sys.exit("\n".join([wrong.message, *(cause.message for cause in wrong.causes)]))


main(sys.argv[1], json.loads(sys.argv[2]))
