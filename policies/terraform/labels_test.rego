package labels_test

import data.testing

topic(labels) := ["google_pubsub_topic", "t", {"name": "n", "labels": labels}]

pool(values) := ["google_vertex_ai_persistent_resource", "p", object.union({"name": "night-v1"}, values)]

provider(expressions) := {"configuration": {"provider_config": {"google": {"name": "google", "expressions": expressions}}}}

test_missing_labels_are_denied if "OVN401" in testing.denied with input as testing.plan([topic(null)])

test_one_missing_label_is_denied if {
	"OVN401" in testing.denied with input as testing.plan([topic(object.remove(data.testing.labels, ["owner"]))])
}

test_labels_that_are_not_written_are_denied if {
	"OVN401" in testing.denied with input as testing.synth([["google_pubsub_topic", "t", {"name": "n"}]])
}

test_missing_labels_of_an_alert_are_denied if {
	"OVN401" in testing.denied with input as testing.plan([["google_monitoring_alert_policy", "a", {"user_labels": null}]])
}

test_the_address_of_a_channel_is_no_label if {
	"OVN401" in testing.denied with input as testing.plan([["google_monitoring_notification_channel", "c", {
		"labels": object.union(data.testing.labels, {"email_address": "a@acme.example"}),
		"user_labels": null,
	}]])
}

test_all_labels_pass if not "OVN401" in testing.denied with input as testing.plan([topic(data.testing.labels)])

test_more_labels_pass if {
	not "OVN401" in testing.denied with input as testing.plan([topic(object.union(data.testing.labels, {"purpose": "builds"}))])
}

test_a_type_without_labels_passes if {
	not "OVN401" in testing.denied with input as testing.plan([["google_kms_key_ring", "r", {"name": "n"}]])
}

test_a_pool_without_labels_passes if not "OVN401" in testing.denied with input as testing.plan([pool({"labels": null})])

test_another_stacks_label_is_denied if {
	"OVN402" in testing.denied with input as testing.plan([topic(object.union(data.testing.labels, {"stack": "delivery"}))])
}

test_an_empty_label_is_denied if {
	"OVN402" in testing.denied with input as testing.synth([topic(object.union(data.testing.labels, {"owner": ""}))])
}

test_a_label_with_capitals_is_denied if {
	"OVN402" in testing.denied with input as testing.plan([topic(object.union(data.testing.labels, {"owner": "Vision"}))])
}

test_right_labels_pass if not "OVN402" in testing.denied with input as testing.plan([topic(data.testing.labels)])

test_a_label_by_reference_passes if {
	not "OVN402" in testing.denied with input as testing.synth([topic(object.union(data.testing.labels, {"owner": "${var.owner}"}))])
}

test_labels_of_a_pool_are_denied if "OVN403" in testing.denied with input as testing.plan([pool({"labels": data.testing.labels})])

test_labels_that_the_provider_adds_to_a_pool_are_denied if {
	"OVN403" in testing.denied with input as testing.plan([pool({"labels": null, "effective_labels": {"goog-terraform-provisioned": "true"}})])
}

test_a_pool_has_no_labels if {
	not "OVN403" in testing.denied with input as testing.plan([pool({"labels": null, "effective_labels": {}})])
}

test_a_provider_that_adds_its_label_is_denied if {
	"OVN404" in testing.denied with input as object.union(testing.plan([pool({})]), provider({"region": {"constant_value": "us-central1"}}))
}

test_a_provider_with_default_labels_is_denied if {
	"OVN404" in testing.denied with input as object.union(testing.synth([pool({})]), {"provider": {"google": [{
		"add_terraform_attribution_label": false,
		"default_labels": {"team": "vision"},
	}]}})
}

test_a_provider_that_adds_nothing_passes if {
	not "OVN404" in testing.denied with input as object.union(
		testing.plan([pool({})]),
		provider({"add_terraform_attribution_label": {"constant_value": false}}),
	)
}

test_without_pools_a_provider_may_add_labels if {
	not "OVN404" in testing.denied with input as object.union(testing.plan([topic(data.testing.labels)]), provider({}))
}
