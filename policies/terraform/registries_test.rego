package registries_test

import data.testing

images(values) := ["google_artifact_registry_repository", "r", object.union({"repository_id": "prod-images", "format": "DOCKER"}, values)]

python(values) := ["google_artifact_registry_repository", "r", object.union({"repository_id": "prod-python", "format": "PYTHON"}, values)]

test_mutable_tags_are_denied if {
	"OVN301" in testing.denied with input as testing.plan([images({"docker_config": [{"immutable_tags": false}]})])
}

test_mutable_tags_by_default_are_denied if "OVN301" in testing.denied with input as testing.synth([images({})])

test_immutable_tags_pass if {
	not "OVN301" in testing.denied with input as testing.plan([images({"docker_config": [{"immutable_tags": true}]})])
}

test_immutable_tags_in_a_stack_pass if {
	not "OVN301" in testing.denied with input as testing.synth([images({"docker_config": {"immutable_tags": true}})])
}

test_a_build_cache_may_move_its_tags if {
	not "OVN301" in testing.denied with input as testing.plan([images({"repository_id": "prod-cache"})])
}

test_a_mirror_has_no_tags_of_its_own if {
	not "OVN301" in testing.denied with input as testing.plan([images({"mode": "REMOTE_REPOSITORY"})])
}

test_python_packages_have_no_tags if not "OVN301" in testing.denied with input as testing.plan([python({})])

test_deleting_tagged_versions_is_denied if {
	"OVN302" in testing.denied with input as testing.plan([images({"cleanup_policies": [{"id": "old", "action": "DELETE", "condition": [{"tag_state": "TAGGED", "older_than": "1s"}]}]})])
}

test_deleting_any_version_is_denied if {
	"OVN302" in testing.denied with input as testing.synth([python({"cleanup_policies": [{"id": "old", "action": "DELETE", "condition": {"older_than": "1s"}}]})])
}

test_deleting_untagged_versions_passes if {
	not "OVN302" in testing.denied with input as testing.plan([images({"cleanup_policies": [
		{"id": "old", "action": "DELETE", "condition": [{"tag_state": "UNTAGGED"}]},
		{"id": "new", "action": "KEEP", "condition": [], "most_recent_versions": [{"keep_count": 3}]},
	]})])
}

test_a_build_cache_is_emptied if {
	not "OVN302" in testing.denied with input as testing.plan([images({
		"repository_id": "prod-cache",
		"cleanup_policies": [{"id": "old", "action": "DELETE", "condition": [{"tag_state": "ANY"}]}],
	})])
}
