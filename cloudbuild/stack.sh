#!/usr/bin/env bash
# Plan one synthesized stack and hold it against the policies; with `apply`, apply exactly that plan afterwards.
# usage: cloudbuild/stack.sh plan|apply STACK
set -euo pipefail
action=${1:-} stack=${2:-}
case "$action" in
  # The account that plans pull requests cannot write Terraform's state, nor its lock.
  plan) lock=-lock=false ;;
  apply) lock=-lock-timeout=10m ;;
  *) echo "usage: cloudbuild/stack.sh plan|apply STACK" >&2; exit 2 ;;
esac
folder=cdktf.out/stacks/${stack:?usage: cloudbuild/stack.sh plan|apply STACK}
plans=$PWD/plans
mkdir -p "$plans"
export CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1

terraform -chdir="$folder" init -input=false -no-color
terraform -chdir="$folder" plan -input=false -no-color "$lock" -out="$plans/$stack.tfplan"
terraform -chdir="$folder" show -json "$plans/$stack.tfplan" > "$plans/$stack.json"
# The plan shows what would change; the configuration also what the plan does not know yet.
conftest test --policy policies/lib --policy policies/terraform "$plans/$stack.json" "$folder/cdk.tf.json"
[ "$action" = plan ] || terraform -chdir="$folder" apply -input=false -no-color "$lock" "$plans/$stack.tfplan"
