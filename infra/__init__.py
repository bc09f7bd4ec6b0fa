"""The infrastructure: CDK for Terraform stacks that read one environment file and provision its project."""
