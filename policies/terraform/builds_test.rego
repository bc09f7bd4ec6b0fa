package builds_test

import data.testing

trigger(values) := ["google_cloudbuild_trigger", "t", object.union(
	{
		"service_account": "projects/p/serviceAccounts/prod-build@p.iam.gserviceaccount.com",
		"filename": "cloudbuild/images.yaml",
		"repository_event_config": [{"push": [{"branch": "^main$"}], "pull_request": []}],
	},
	values,
)]

pull_request := {"repository_event_config": [{"push": [], "pull_request": [{"branch": "^main$"}]}]}

run_by(role) := {"service_account": sprintf("projects/p/serviceAccounts/prod-%s@p.iam.gserviceaccount.com", [role])}

test_a_trigger_without_an_account_is_denied if {
	"OVN901" in testing.denied with input as testing.plan([trigger({"service_account": null})])
}

test_a_trigger_without_an_account_in_a_stack_is_denied if {
	"OVN901" in testing.denied with input as testing.synth([["google_cloudbuild_trigger", "t", {"filename": "x.yaml"}]])
}

test_a_trigger_with_an_account_passes if not "OVN901" in testing.denied with input as testing.plan([trigger({})])

test_an_account_not_known_yet_passes if {
	not "OVN901" in testing.denied with input as testing.plan_with_unknown("google_cloudbuild_trigger", "t", {"filename": "x.yaml"}, {"service_account": true})
}

test_an_unapproved_apply_is_denied if {
	"OVN902" in testing.denied with input as testing.plan([trigger({"filename": "cloudbuild/apply.yaml", "approval_config": []})])
}

test_an_unapproved_apply_from_another_repository_is_denied if {
	"OVN902" in testing.denied with input as testing.synth([trigger({"filename": null, "git_file_source": {"path": "Terraform-Apply.yaml"}})])
}

test_an_approved_apply_passes if {
	not "OVN902" in testing.denied with input as testing.plan([trigger({
		"filename": "cloudbuild/apply.yaml",
		"approval_config": [{"approval_required": true}],
	})])
}

test_a_build_needs_no_approval if not "OVN902" in testing.denied with input as testing.plan([trigger({})])

test_pull_requests_as_build_are_denied if {
	"OVN903" in testing.denied with input as testing.plan([trigger(pull_request)])
}

test_pull_requests_as_deploy_are_denied if {
	"OVN903" in testing.denied with input as testing.synth([trigger(object.union(run_by("deploy"), {
		"repository_event_config": {"pull_request": {"branch": "^main$"}},
	}))])
}

test_pull_requests_as_build_by_reference_are_denied if {
	"OVN903" in testing.denied with input as testing.synth([
		trigger(object.union(pull_request, {"service_account": "${google_service_account.b.id}"})),
		["google_service_account", "b", {"account_id": "prod-build"}],
	])
}

test_pull_requests_as_check_pass if {
	not "OVN903" in testing.denied with input as testing.plan([trigger(object.union(pull_request, run_by("check")))])
}

test_merges_as_build_pass if not "OVN903" in testing.denied with input as testing.plan([trigger({})])
