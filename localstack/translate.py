"""Prints what AWS makes of a SAM template before it looks at it, as JSON: translate.py TEMPLATE. LocalStack looks at references first, and doesn't know
those of SAM, such as ApiFunction.Alias; nor does it know Rules, which are left out. Code that is in no bucket is said to be in one."""
import json
import os
import sys

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
import boto3  # noqa: E402
from samtranslator.parser.parser import Parser  # noqa: E402
from samtranslator.translator.translator import Translator  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402

with open(sys.argv[1]) as file:
    template = yaml_parse(file.read())
for resource in template["Resources"].values():
    if resource["Type"] == "AWS::Serverless::Function" and not resource["Properties"]["CodeUri"].startswith("s3://"):
        resource["Properties"]["CodeUri"] = "s3://code/" + resource["Properties"]["CodeUri"]
template = Translator({}, Parser(), boto_session=boto3.session.Session()).translate(template, {})
template.pop("Rules", None)
json.dump(template, sys.stdout)
