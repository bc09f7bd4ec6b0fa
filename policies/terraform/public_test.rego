package public_test

import data.testing

reader(member) := ["google_storage_bucket_iam_member", "reader", {
	"bucket": "b",
	"role": "roles/storage.objectViewer",
	"member": member,
}]

bucket := {
	"name": "b",
	"location": "us-central1",
	"public_access_prevention": "enforced",
	"uniform_bucket_level_access": true,
	"labels": null,
}

test_all_users_are_denied if "OVN101" in testing.denied with input as testing.plan([reader("allUsers")])

test_all_users_in_a_stack_are_denied if "OVN101" in testing.denied with input as testing.synth([reader("allUsers")])

test_every_google_account_is_denied if {
	"OVN101" in testing.denied with input as testing.plan([reader("allAuthenticatedUsers")])
}

test_all_users_among_members_are_denied if {
	"OVN101" in testing.denied with input as testing.plan([["google_project_iam_binding", "b", {
		"role": "roles/aiplatform.user",
		"members": ["user:a@acme.example", "allUsers"],
	}]])
}

test_all_users_in_a_policy_document_are_denied if {
	"OVN101" in testing.denied with input as testing.plan([["google_storage_bucket_iam_policy", "b", {
		"policy_data": `{"bindings":[{"members":["allUsers"],"role":"roles/storage.objectViewer"}]}`,
	}]])
}

test_all_users_in_an_access_list_are_denied if {
	"OVN101" in testing.denied with input as testing.plan([["google_storage_bucket_acl", "b", {"role_entity": ["READER:allUsers"]}]])
}

test_a_predefined_public_access_list_is_denied if {
	"OVN101" in testing.denied with input as testing.plan([["google_storage_bucket_acl", "b", {"predefined_acl": "publicRead"}]])
}

test_a_group_passes if not "OVN101" in testing.denied with input as testing.plan([reader("group:analysts@acme.example")])

test_an_alert_that_looks_for_public_grants_passes if {
	not "OVN101" in testing.denied with input as testing.plan([["google_monitoring_alert_policy", "a", {
		"conditions": [{"condition_matched_log": [{"filter": `protoPayload.request.members="allUsers"`}]}],
	}]])
}

test_inherited_public_access_prevention_is_denied if {
	"OVN102" in testing.denied with input as testing.plan([["google_storage_bucket", "b", object.union(bucket, {"public_access_prevention": "inherited"})]])
}

test_unset_public_access_prevention_is_denied if {
	"OVN102" in testing.denied with input as testing.synth([["google_storage_bucket", "b", object.remove(bucket, ["public_access_prevention"])]])
}

test_enforced_public_access_prevention_passes if {
	not "OVN102" in testing.denied with input as testing.plan([["google_storage_bucket", "b", bucket]])
}

test_object_access_lists_are_denied if {
	"OVN103" in testing.denied with input as testing.plan([["google_storage_bucket", "b", object.union(bucket, {"uniform_bucket_level_access": false})]])
}

test_access_lists_by_default_are_denied if {
	"OVN103" in testing.denied with input as testing.synth([["google_storage_bucket", "b", object.remove(bucket, ["uniform_bucket_level_access"])]])
}

test_uniform_access_passes if not "OVN103" in testing.denied with input as testing.plan([["google_storage_bucket", "b", bucket]])

test_a_dataset_open_to_every_google_account_is_denied if {
	"OVN104" in testing.denied with input as testing.plan([["google_bigquery_dataset", "d", {
		"access": [{"role": "READER", "special_group": "allAuthenticatedUsers"}],
	}]])
}

test_a_dataset_member_of_all_users_is_denied if {
	"OVN104" in testing.denied with input as testing.plan([["google_bigquery_dataset_iam_member", "d", {"member": "allUsers"}]])
}

test_a_public_grant_is_reported_under_one_rule if {
	not "OVN101" in testing.denied with input as testing.plan([["google_bigquery_dataset_iam_member", "d", {"member": "allUsers"}]])
}

test_a_dataset_for_project_readers_passes if {
	not "OVN104" in testing.denied with input as testing.plan([["google_bigquery_dataset", "d", {
		"access": [{"role": "READER", "special_group": "projectReaders"}],
	}]])
}
