package stateful_test

import data.testing

unprotected := object.union(data.testing.demands, {"protect": false})

kept(type) := [type, "x", {"name": "x", "lifecycle": {"prevent_destroy": true}}]

bare(type) := [type, "x", {"name": "x"}]

test_a_bucket_that_is_not_kept_is_denied if "OVN601" in testing.denied with input as testing.synth([bare("google_storage_bucket")])

test_a_pool_that_is_not_kept_is_denied if {
	"OVN601" in testing.denied with input as testing.synth([["google_vertex_ai_persistent_resource", "p", {"lifecycle": {"prevent_destroy": false}}]])
}

test_what_is_kept_passes if {
	not "OVN601" in testing.denied with input as testing.synth([kept("google_storage_bucket"), kept("google_kms_crypto_key")])
}

test_what_can_be_made_again_passes if not "OVN601" in testing.denied with input as testing.synth([bare("google_cloudbuild_trigger")])

test_a_view_passes if {
	not "OVN601" in testing.denied with input as testing.synth([["google_bigquery_table", "v", {"view": {"query": "SELECT 1"}}]])
}

test_an_unprotected_environment_keeps_nothing if {
	not "OVN601" in testing.denied with input as testing.synth_for(unprotected, [bare("google_storage_bucket")])
}

test_a_plan_says_nothing_about_lifecycle if not "OVN601" in testing.denied with input as testing.plan([bare("google_storage_bucket")])

test_destroying_a_bucket_is_denied if {
	"OVN602" in testing.denied with input as testing.plan_to(["delete"], "google_storage_bucket", "b")
}

test_replacing_a_pool_is_denied if {
	"OVN602" in testing.denied with input as testing.plan_to(["delete", "create"], "google_vertex_ai_persistent_resource", "p")
}

test_replacing_a_registry_is_denied if {
	"OVN602" in testing.denied with input as testing.plan_to(["create", "delete"], "google_artifact_registry_repository", "p")
}

test_destroying_without_our_output_is_denied if {
	"OVN602" in testing.denied with input as object.union(
		testing.plan_to(["delete"], "google_storage_bucket", "b"),
		{"planned_values": {"outputs": {"policy": null}}},
	)
}

test_changing_a_bucket_passes if {
	not "OVN602" in testing.denied with input as testing.plan_to(["update"], "google_storage_bucket", "b")
}

test_destroying_a_trigger_passes if {
	not "OVN602" in testing.denied with input as testing.plan_to(["delete"], "google_cloudbuild_trigger", "t")
}

test_tearing_down_an_unprotected_environment_passes if {
	not "OVN602" in testing.denied with input as object.union(
		testing.plan_to(["delete"], "google_storage_bucket", "b"),
		{"planned_values": {"outputs": {"policy": {"value": unprotected}}}},
	)
}

test_a_bucket_emptied_on_the_way_is_denied if {
	"OVN603" in testing.denied with input as testing.plan([["google_storage_bucket", "b", {"force_destroy": true}]])
}

test_a_dataset_emptied_on_the_way_is_denied if {
	"OVN603" in testing.denied with input as testing.synth([["google_bigquery_dataset", "d", {"delete_contents_on_destroy": true}]])
}

test_contents_stay if {
	not "OVN603" in testing.denied with input as testing.plan([
		["google_storage_bucket", "b", {"force_destroy": false}],
		["google_bigquery_dataset", "d", {"delete_contents_on_destroy": null}],
	])
}
