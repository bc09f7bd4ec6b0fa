# An API is enabled before what needs it is created: on a new project the difference is a failed apply.
package main

import data.lib

# Longest prefixes only where two would match.
api_prefixes := {
	"google_artifact_registry_": "artifactregistry.googleapis.com",
	"google_bigquery_": "bigquery.googleapis.com",
	"google_billing_budget": "billingbudgets.googleapis.com",
	"google_binary_authorization_": "binaryauthorization.googleapis.com",
	"google_cloud_scheduler_": "cloudscheduler.googleapis.com",
	"google_cloudbuild_": "cloudbuild.googleapis.com",
	"google_cloudbuildv2_": "cloudbuild.googleapis.com",
	"google_colab_": "aiplatform.googleapis.com",
	"google_compute_": "compute.googleapis.com",
	"google_iam_workload_identity_": "iam.googleapis.com",
	"google_kms_": "cloudkms.googleapis.com",
	"google_logging_": "logging.googleapis.com",
	"google_monitoring_": "monitoring.googleapis.com",
	"google_project_iam_": "cloudresourcemanager.googleapis.com",
	"google_pubsub_": "pubsub.googleapis.com",
	"google_secret_manager_": "secretmanager.googleapis.com",
	"google_service_account": "iam.googleapis.com",
	"google_storage_": "storage.googleapis.com",
	"google_vertex_ai_": "aiplatform.googleapis.com",
}

# Plan and synth: the plan enables the API, so what needs it has to wait for that.
deny contains lib.message(
	"OVN811",
	resource.address,
	sprintf("it may be created before %s is enabled", [api]),
	sprintf("add depends_on %s", [concat(", ", sort(services[api]))]),
) if {
	some resource in lib.resources
	in_root(resource)
	api := api_of(resource)
	services[api]
	count(services[api] & lib.needs(resource)) == 0
}

# Plan and synth: another stack enables the API, so this one has to say that it counts on it.
deny contains lib.message(
	"OVN812",
	resource.address,
	sprintf("nothing enables %s", [api]),
	"add it to the stack's `apis`: the foundation stack then enables it",
) if {
	lib.policy
	some resource in lib.resources
	api := api_of(resource)
	not services[api]
	not api in lib.policy.required_apis
}

# Which google_project_service enables an API here.
services[api] := enabling if {
	some one in lib.resources
	one.type == "google_project_service"
	api := one.values.service
	enabling := {other.base |
		some other in lib.resources
		other.type == "google_project_service"
		other.values.service == api
	}
}

api_of(resource) := resource.values.service if {
	resource.type == "google_project_service_identity"
	lib.written(resource.values.service)
} else := api if {
	some prefix, api in api_prefixes
	startswith(resource.type, prefix)
}

# References inside other modules are not followed.
in_root(resource) if not startswith(resource.address, "module.")
