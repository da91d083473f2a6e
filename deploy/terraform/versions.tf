# Generated from template.yaml by .ci/ways update; do not edit.

# Of the template 1a8ffb1d5cd4c1e3.

terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.29, < 7"
    }
  }
}
