# What was released stays what it was. A repository whose id ends in -cache holds what can be made again.
package main

import data.lib

# Plan and synth.
deny contains lib.message(
	"OVN301",
	resource.address,
	"a tag can be moved to another image",
	"set docker_config.immutable_tags = true; build caches go into a repository whose id ends in -cache",
) if {
	some resource in kept_repositories
	upper(lib.string_at(resource.values, "format")) == "DOCKER"
	not has_immutable_tags(resource)
}

# Plan and synth.
deny contains lib.message(
	"OVN302",
	resource.address,
	sprintf("cleanup policy %s deletes versions that have a tag", [lib.string_at(cleanup, "id")]),
	`set its condition's tag_state = "UNTAGGED"`,
) if {
	some resource in kept_repositories
	some cleanup in lib.blocks(resource.values, "cleanup_policies")
	cleanup.action == "DELETE"
	not only_untagged(cleanup)
}

# Remote and virtual repositories hold copies.
kept_repositories contains resource if {
	some resource in lib.resources
	resource.type == "google_artifact_registry_repository"
	not is_cache(resource)
}

is_cache(resource) if endswith(lib.string_at(resource.values, "repository_id"), "-cache")

is_cache(resource) if resource.values.mode in {"REMOTE_REPOSITORY", "VIRTUAL_REPOSITORY"}

has_immutable_tags(resource) if {
	some docker in lib.blocks(resource.values, "docker_config")
	docker.immutable_tags == true
}

only_untagged(cleanup) if {
	some condition in lib.blocks(cleanup, "condition")
	condition.tag_state == "UNTAGGED"
}
