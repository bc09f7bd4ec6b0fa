package authority_test

import data.testing

test_a_policy_of_the_project_is_denied if {
	"OVN206" in testing.denied with input as testing.plan([["google_project_iam_policy", "p", {"policy_data": "{}"}]])
}

test_a_policy_of_a_bucket_is_denied if {
	"OVN206" in testing.denied with input as testing.synth([["google_storage_bucket_iam_policy", "p", {"policy_data": "{}"}]])
}

test_a_binding_of_the_project_is_denied if {
	"OVN206" in testing.denied with input as testing.plan([["google_project_iam_binding", "p", {"role": "roles/aiplatform.user", "members": []}]])
}

test_a_member_passes if {
	not "OVN206" in testing.denied with input as testing.plan([["google_project_iam_member", "p", {"role": "roles/aiplatform.user", "member": "user:a@acme.example"}]])
}

test_a_binding_of_one_bucket_passes if {
	not "OVN206" in testing.denied with input as testing.plan([["google_storage_bucket_iam_binding", "p", {"role": "roles/storage.objectViewer", "members": []}]])
}

test_an_organization_policy_passes if {
	not "OVN206" in testing.denied with input as testing.plan([["google_org_policy_policy", "p", {"name": "n"}]])
}
