package apis_test

import data.testing

service := ["google_project_service", "storage_api", {"service": "storage.googleapis.com"}]

bucket := ["google_storage_bucket", "b", {"name": "b"}]

member := ["google_storage_bucket_iam_member", "m", {"bucket": "b"}]

by_reference := {"bucket": {"references": ["google_storage_bucket.b.name", "google_storage_bucket.b"]}}

test_a_resource_that_does_not_wait_is_denied if {
	"OVN811" in testing.denied with input as testing.configured(testing.plan([service, bucket]), [["google_storage_bucket.b", [], {}]])
}

test_a_resource_that_does_not_wait_in_a_stack_is_denied if {
	"OVN811" in testing.denied with input as testing.synth([service, bucket])
}

test_a_resource_that_waits_passes if {
	not "OVN811" in testing.denied with input as testing.configured(testing.plan([service, bucket]), [
		["google_storage_bucket.b", ["google_project_service.storage_api"], {}],
		["google_project_service.storage_api", [], {}],
	])
}

test_a_resource_that_waits_for_one_that_waits_passes if {
	not "OVN811" in testing.denied with input as testing.configured(testing.plan([service, bucket, member]), [
		["google_storage_bucket_iam_member.m", [], by_reference],
		["google_storage_bucket.b", ["google_project_service.storage_api"], {}],
		["google_project_service.storage_api", [], {}],
	])
}

test_a_resource_that_waits_for_another_api_is_denied if {
	"OVN811" in testing.denied with input as testing.configured(
		testing.plan([service, bucket, ["google_project_service", "iam_api", {"service": "iam.googleapis.com"}]]),
		[
			["google_storage_bucket.b", ["google_project_service.iam_api"], {}],
			["google_project_service.iam_api", [], {}],
		],
	)
}

test_waiting_in_a_stack_passes if {
	not "OVN811" in testing.denied with input as testing.synth([
		service,
		["google_storage_bucket", "b", {"name": "b", "depends_on": ["google_project_service.storage_api"]}],
		["google_storage_bucket_iam_member", "m", {"bucket": "${google_storage_bucket.b.name}"}],
	])
}

test_resources_of_a_for_each_wait_together if {
	not "OVN811" in testing.denied with input as testing.configured(
		object.union(testing.plan([]), {"planned_values": {"root_module": {"resources": [
			{"address": `google_project_service.apis["storage"]`, "mode": "managed", "type": "google_project_service", "name": "apis", "values": {"service": "storage.googleapis.com"}},
			{"address": "google_storage_bucket.b[0]", "mode": "managed", "type": "google_storage_bucket", "name": "b", "values": {}},
		]}}}),
		[
			["google_storage_bucket.b", ["google_project_service.apis"], {}],
			["google_project_service.apis", [], {}],
		],
	)
}

test_an_api_that_nobody_enables_is_denied if {
	"OVN812" in testing.denied with input as testing.plan([["google_pubsub_topic", "t", {"name": "t"}]])
}

test_the_api_of_a_service_identity_is_needed if {
	"OVN812" in testing.denied with input as testing.synth([["google_project_service_identity", "i", {"service": "pubsub.googleapis.com"}]])
}

test_an_api_that_the_foundation_enables_passes if not "OVN812" in testing.denied with input as testing.plan([bucket])

test_an_api_that_the_plan_enables_passes if {
	not "OVN812" in testing.denied with input as testing.plan([
		["google_pubsub_topic", "t", {"name": "t"}],
		["google_project_service", "pubsub_api", {"service": "pubsub.googleapis.com"}],
	])
}
