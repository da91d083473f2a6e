#!/usr/bin/env bash
# usage: localstack/up.sh [ENDPOINT]
# Deploys the stack to LocalStack, or to the AWS-compatible ENDPOINT, and runs the end-to-end proof
# against it. Without ENDPOINT it starts compose.yaml. README.md says what it needs and what was
# never tested.
set -euo pipefail
cd "$(dirname "$0")/.."

endpoint=${1:-}
stack=${STACK:-dormouse-local}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

stop() { printf 'localstack: %s\n' "$*" >&2; exit 1; }
need() { command -v "$1" > /dev/null || stop "$1 is not installed; $2"; }

need aws "install the AWS CLI, version 2"
need python3 "sam build needs it"
for name in JWT_ISSUER JWT_AUDIENCE DORMOUSE_TOKEN; do
  [ -n "${!name:-}" ] || stop "$name is not set; set JWT_ISSUER, JWT_AUDIENCE and DORMOUSE_TOKEN (see localstack/README.md)"
done

if [ -z "$endpoint" ]; then
  [ -n "${LOCALSTACK_AUTH_TOKEN:-}" ] ||
    stop "LOCALSTACK_AUTH_TOKEN is not set; set it to the token of your account at app.localstack.cloud"
  docker compose version > /dev/null 2>&1 ||
    stop "docker compose is not installed; install it, or pass the endpoint of a running server: localstack/up.sh http://127.0.0.1:4566"
  docker compose --file localstack/compose.yaml up --detach --wait
  endpoint=http://127.0.0.1:4566
fi

# A local server accepts any credentials; those of the environment are for a real endpoint.
export AWS_ACCESS_KEY_ID=${AWS_ACCESS_KEY_ID:-test} AWS_SECRET_ACCESS_KEY=${AWS_SECRET_ACCESS_KEY:-test}
export AWS_REGION=${AWS_REGION:-us-east-1} AWS_ENDPOINT_URL=$endpoint AWS_PAGER=
export AWS_DEFAULT_REGION=$AWS_REGION

CI=true .ci/sam "$work/build"

bucket=$stack-code
aws s3api head-bucket --bucket "$bucket" > /dev/null 2>&1 || aws s3 mb "s3://$bucket"
aws cloudformation package --template-file "$work/build/template.yaml" --s3-bucket "$bucket" --output-template-file "$work/packaged.yaml" > "$work/log" ||
  { cat "$work/log"; exit 1; }
# LocalStack doesn't know the references of SAM, so it gets what SAM makes of the template.
translator=$(.ci/servers translator)
"$translator/bin/python" localstack/translate.py "$work/packaged.yaml" > "$work/packaged.json"
# The template is larger than a request may be, so it goes into the bucket too.
aws cloudformation deploy --template-file "$work/packaged.json" --s3-bucket "$bucket" --stack-name "$stack" \
  --capabilities CAPABILITY_IAM --no-fail-on-empty-changeset \
  --parameter-overrides Auth=JWT "JwtIssuer=$JWT_ISSUER" "JwtAudience=$JWT_AUDIENCE" "TenantClaim=${TENANT_CLAIM:-tenant}" "RolesClaim=${ROLES_CLAIM:-roles}"

output() {
  aws cloudformation describe-stacks --stack-name "$stack" --query "Stacks[0].Outputs[?OutputKey=='$1'].OutputValue" --output text
}
go run ./internal/proof/e2e --dynamodb "$endpoint" --sqs "$endpoint" \
  --api "$(output ApiUrl)" --table "$(output TableName)" \
  --intake "$(output IntakeQueueUrl)" --intake-dead "$(output IntakeDeadQueueUrl)"
