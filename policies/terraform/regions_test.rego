package regions_test

import data.testing

bucket_in(location) := ["google_storage_bucket", "b", {"name": "b", "location": location, "custom_placement_config": []}]

ring_in(location) := ["google_kms_key_ring", "r", {"name": "r", "location": location}]

test_a_multi_region_is_denied if "OVN501" in testing.denied with input as testing.plan([bucket_in("EU")])

test_a_dual_region_is_denied if "OVN501" in testing.denied with input as testing.synth([bucket_in("NAM4")])

test_a_chosen_pair_of_regions_is_denied if {
	"OVN501" in testing.denied with input as testing.plan([["google_storage_bucket", "b", {
		"location": "us-central1",
		"custom_placement_config": [{"data_locations": ["US-CENTRAL1", "US-EAST1"]}],
	}]])
}

test_a_dataset_in_a_multi_region_is_denied if {
	"OVN501" in testing.denied with input as testing.plan([["google_bigquery_dataset", "d", {"location": "US"}]])
}

test_a_dataset_without_a_location_is_denied if {
	"OVN501" in testing.denied with input as testing.synth([["google_bigquery_dataset", "d", {"dataset_id": "d"}]])
}

test_a_bucket_in_the_region_passes if {
	not "OVN501" in testing.denied with input as testing.plan([bucket_in("US-CENTRAL1")])
}

test_another_region_is_denied if "OVN502" in testing.denied with input as testing.plan([bucket_in("europe-west4")])

test_another_regions_zone_is_denied if {
	"OVN502" in testing.denied with input as testing.plan([["google_workbench_instance", "i", {"zone": "europe-west4-a"}]])
}

test_messages_that_rest_elsewhere_are_denied if {
	"OVN502" in testing.denied with input as testing.plan([["google_pubsub_topic", "t", {"message_storage_policy": [{"allowed_persistence_regions": ["us-central1", "europe-west4"]}]}]])
}

test_a_secret_replicated_elsewhere_is_denied if {
	"OVN502" in testing.denied with input as testing.synth([["google_secret_manager_secret", "s", {"replication": {"user_managed": {"replicas": [{"location": "europe-west4"}]}}}]])
}

test_global_is_denied_where_a_region_can_be_named if {
	"OVN502" in testing.denied with input as testing.plan([["google_vertex_ai_tensorboard", "t", {"region": "global"}]])
}

test_the_region_passes if not "OVN502" in testing.denied with input as testing.plan([bucket_in("us-central1"), ring_in("us-central1")])

test_a_zone_of_the_region_passes if {
	not "OVN502" in testing.denied with input as testing.plan([["google_workbench_instance", "i", {"zone": "us-central1-a"}]])
}

test_a_global_key_ring_passes if not "OVN502" in testing.denied with input as testing.plan([ring_in("global")])

test_a_region_by_reference_passes if not "OVN502" in testing.denied with input as testing.synth([ring_in("${var.region}")])

test_a_multi_region_is_reported_once if not "OVN502" in testing.denied with input as testing.plan([bucket_in("EU")])
