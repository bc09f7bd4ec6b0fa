package roles_test

import data.testing

on_project(role, member) := ["google_project_iam_member", "grant", {
	"project": "acme-vision",
	"role": role,
	"member": member,
	"condition": [],
}]

on_project_if(role, member) := ["google_project_iam_member", "grant", {
	"project": "acme-vision",
	"role": role,
	"member": member,
	"condition": [{"title": "some", "expression": "true"}],
}]

on_bucket(role, member) := ["google_storage_bucket_iam_member", "grant", {"bucket": "b", "role": role, "member": member}]

test_owner_is_denied if {
	"OVN201" in testing.denied with input as testing.plan([on_project("roles/owner", testing.member_of("deploy"))])
}

test_viewer_in_a_binding_is_denied if {
	"OVN201" in testing.denied with input as testing.plan([["google_folder_iam_binding", "b", {"role": "roles/viewer", "members": ["group:a@acme.example"]}]])
}

test_editor_in_a_stack_is_denied if {
	"OVN201" in testing.denied with input as testing.synth([on_project("roles/editor", testing.member_of("pipeline"))])
}

test_a_predefined_role_passes if {
	not "OVN201" in testing.denied with input as testing.plan([on_project("roles/aiplatform.user", testing.member_of("pipeline"))])
}

test_administration_of_the_project_is_denied if {
	"OVN202" in testing.denied with input as testing.plan([on_project("roles/storage.objectAdmin", testing.member_of("training"))])
}

test_administration_for_a_person_is_denied if {
	"OVN202" in testing.denied with input as testing.plan([on_project("roles/aiplatform.admin", "user:a@acme.example")])
}

test_administration_for_another_environments_deploy_account_is_denied if {
	"OVN202" in testing.denied with input as testing.plan([on_project("roles/aiplatform.admin", "serviceAccount:dev-deploy@acme-vision.iam.gserviceaccount.com")])
}

test_administration_for_a_member_not_known_yet_is_denied if {
	"OVN202" in testing.denied with input as testing.plan_with_unknown("google_project_iam_member", "g", {"role": "roles/storage.admin"}, {"member": true})
}

test_the_deploy_account_administers if {
	not "OVN202" in testing.denied with input as testing.plan([on_project("roles/storage.admin", testing.member_of("deploy"))])
}

test_the_deploy_account_by_reference_administers if {
	not "OVN202" in testing.denied with input as testing.synth([
		on_project("roles/storage.admin", "${google_service_account.d.member}"),
		["google_service_account", "d", {"account_id": "prod-deploy"}],
	])
}

test_the_deploy_account_not_known_yet_administers if {
	not "OVN202" in testing.denied with input as testing.configured(
		testing.plan([
			["google_project_iam_member", "g", {"role": "roles/storage.admin"}],
			["google_service_account", "d", {"account_id": "prod-deploy"}],
		]),
		[
			["google_project_iam_member.g", [], {"member": {"references": ["google_service_account.d.member", "google_service_account.d"]}}],
			["google_service_account.d", [], {}],
		],
	)
}

test_another_account_by_reference_is_denied if {
	"OVN202" in testing.denied with input as testing.synth([
		on_project("roles/storage.admin", "serviceAccount:${google_service_account.d.email}"),
		["google_service_account", "d", {"account_id": "prod-training"}],
	])
}

test_administration_of_one_bucket_passes if {
	not "OVN202" in testing.denied with input as testing.plan([on_bucket("roles/storage.objectAdmin", testing.member_of("training"))])
}

test_acting_as_every_account_is_denied if {
	"OVN203" in testing.denied with input as testing.plan([on_project("roles/iam.serviceAccountUser", testing.member_of("deploy"))])
}

test_tokens_for_every_account_are_denied if {
	"OVN203" in testing.denied with input as testing.synth([on_project("roles/iam.serviceAccountTokenCreator", testing.member_of("scheduler"))])
}

test_acting_as_one_account_passes if {
	not "OVN203" in testing.denied with input as testing.plan([["google_service_account_iam_member", "g", {
		"service_account_id": "projects/p/serviceAccounts/x",
		"role": "roles/iam.serviceAccountUser",
		"member": testing.member_of("pipeline"),
	}]])
}

test_reading_every_bucket_is_denied if {
	"OVN204" in testing.denied with input as testing.plan([on_project("roles/storage.objectViewer", testing.member_of("training"))])
}

test_writing_every_dataset_is_denied if {
	"OVN204" in testing.denied with input as testing.synth([on_project("roles/bigquery.dataEditor", testing.member_of("pipeline"))])
}

test_reading_one_bucket_passes if {
	not "OVN204" in testing.denied with input as testing.plan([on_bucket("roles/storage.objectViewer", testing.member_of("training"))])
}

test_running_queries_passes if {
	not "OVN204" in testing.denied with input as testing.plan([on_project("roles/bigquery.jobUser", testing.member_of("pipeline"))])
}

test_the_plan_account_reads_every_bucket if {
	not "OVN204" in testing.denied with input as testing.plan([on_project("roles/storage.bucketViewer", testing.member_of("plan"))])
}

test_granting_anything_is_denied if {
	"OVN205" in testing.denied with input as testing.plan([on_project("roles/resourcemanager.projectIamAdmin", testing.member_of("deploy"))])
}

test_granting_what_a_condition_lists_passes if {
	not "OVN205" in testing.denied with input as testing.plan([on_project_if("roles/resourcemanager.projectIamAdmin", testing.member_of("deploy"))])
}
