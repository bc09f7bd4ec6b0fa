package images_test

import data.build_test as house

test_a_step_by_tag_is_denied if "OVN2001" in house.denied_file(house.step({"name": "python:3.11"}))

test_a_step_by_a_tag_that_is_filled_in_is_denied if {
	"OVN2001" in house.denied_file(house.step({"name": "$_REPOSITORY/builder:$COMMIT_SHA"}))
}

test_a_step_by_digest_passes if not "OVN2001" in house.denied_file(house.step({"name": house.builder}))

test_the_builder_image_passes_unseen if {
	not "OVN2001" in data.testing.denied with input as house.step({"name": "${_BUILDER_IMAGE}"})
}

test_container_registry_is_denied if "OVN2002" in house.denied_file(house.step({"script": "docker run eu.gcr.io/p/x"}))

test_artifact_registry_passes if not "OVN2002" in house.denied_file(house.step({"script": "docker run a-docker.pkg.dev/p/x"}))

test_latest_is_denied if "OVN2003" in house.denied_file(house.step({"args": ["run", "x:latest"]}))

test_an_image_without_a_tag_is_denied if "OVN2003" in house.denied_file(house.file({"images": ["$_REPOSITORY/trainer"]}))

test_an_image_by_commit_passes if not "OVN2003" in house.denied_file(house.file({"images": ["$_REPOSITORY/trainer:$COMMIT_SHA"]}))

test_a_build_without_bases_is_denied if {
	"OVN2004" in house.denied_commands([house.runs(["docker", "build", "--build-arg", "BUILDER_IMAGE=x", "."])])
}

test_a_build_with_an_empty_base_is_denied if {
	"OVN2004" in house.denied_commands([house.runs(["podman", "build", "--build-arg=RUNTIME_IMAGE=", "."])])
}

test_a_build_with_both_bases_passes if not "OVN2004" in house.denied_commands([house.docker_build(["."])])

test_a_base_by_tag_is_denied if {
	"OVN2005" in house.denied_commands([house.docker_build(["--build-arg", "RUNTIME_IMAGE=debian:12"])])
}

test_bases_by_digest_pass if not "OVN2005" in house.denied_commands([house.docker_build(["."])])
