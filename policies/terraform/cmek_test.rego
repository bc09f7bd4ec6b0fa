package cmek_test

import data.testing

key_in(location) := sprintf("projects/p/locations/%s/keyRings/r/cryptoKeys/k", [location])

google_keys := object.union(data.testing.demands, {"cmek": false})

bucket(encryption) := ["google_storage_bucket", "b", {"location": "us-central1", "encryption": encryption}]

crypto_key(values) := ["google_kms_crypto_key", "k", object.union({"name": "k", "purpose": "ENCRYPT_DECRYPT"}, values)]

test_a_bucket_without_our_key_is_denied if "OVN611" in testing.denied with input as testing.plan([bucket([])])

test_a_topic_without_our_key_is_denied if {
	"OVN611" in testing.denied with input as testing.synth([["google_pubsub_topic", "t", {"name": "t"}]])
}

test_a_pool_without_our_key_is_denied if {
	"OVN611" in testing.denied with input as testing.plan([["google_vertex_ai_persistent_resource", "p", {"encryption_spec": []}]])
}

test_our_key_passes if {
	not "OVN611" in testing.denied with input as testing.plan([bucket([{"default_kms_key_name": key_in("us-central1")}])])
}

test_our_key_in_a_stack_passes if {
	not "OVN611" in testing.denied with input as testing.synth([bucket({"default_kms_key_name": "${google_kms_crypto_key.k.id}"})])
}

test_our_key_not_known_yet_passes if {
	not "OVN611" in testing.denied with input as testing.plan_with_unknown("google_storage_bucket", "b", {"encryption": [{}]}, {"encryption": [{"default_kms_key_name": true}]})
}

test_our_key_of_a_registry_not_known_yet_passes if {
	not "OVN611" in testing.denied with input as testing.plan_with_unknown("google_artifact_registry_repository", "r", {"format": "KFP"}, {"kms_key_name": true})
}

test_googles_key_passes_where_the_configuration_says_so if {
	not "OVN611" in testing.denied with input as testing.plan_for(google_keys, [bucket([])])
}

test_a_key_without_rotation_is_denied if {
	"OVN612" in testing.denied with input as testing.plan([crypto_key({"rotation_period": null})])
}

test_a_rotation_of_two_years_is_denied if {
	"OVN612" in testing.denied with input as testing.synth([crypto_key({"rotation_period": "63072000s"})])
}

test_a_rotation_of_ninety_days_passes if {
	not "OVN612" in testing.denied with input as testing.plan([crypto_key({"rotation_period": "7776000s"})])
}

test_a_signing_key_is_not_rotated if {
	not "OVN612" in testing.denied with input as testing.plan([crypto_key({"purpose": "ASYMMETRIC_SIGN", "rotation_period": null})])
}

test_a_key_elsewhere_is_denied if {
	"OVN613" in testing.denied with input as testing.plan([bucket([{"default_kms_key_name": key_in("europe-west4")}])])
}

test_a_global_key_is_denied if {
	"OVN613" in testing.denied with input as testing.synth([["google_vertex_ai_tensorboard", "t", {
		"region": "us-central1",
		"encryption_spec": {"kms_key_name": key_in("global")},
	}]])
}

test_a_key_beside_the_data_passes if {
	not "OVN613" in testing.denied with input as testing.plan([bucket([{"default_kms_key_name": key_in("us-central1")}])])
}
