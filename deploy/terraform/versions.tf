# Generated from template.yaml by .ci/ways update; do not edit.

# Of the template 13b63c8c4e651f9b.

terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.29, < 7"
    }
  }
}
