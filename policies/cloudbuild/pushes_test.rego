package pushes_test

import data.build_test as house

test_images_without_verified_provenance_are_denied if {
	"OVN2021" in house.denied_file(house.file({"options": {"requestedVerifyOption": "BEST_EFFORT"}}))
}

test_verified_images_pass if not "OVN2021" in house.denied_file(house.file({}))

test_a_build_without_images_needs_no_provenance if {
	not "OVN2021" in house.denied_file(house.file({"images": [], "options": {"requestedVerifyOption": "NOT_VERIFIED"}}))
}

release := "us-central1-docker.pkg.dev/p/images/trainer:0123456"

cache := "us-central1-docker.pkg.dev/p/cache/trainer:0123456"

test_a_step_that_pushes_a_release_is_denied if {
	every command in [
		house.runs(["docker", "push", "--quiet", release]),
		house.runs(["docker", "image", "push", release]),
		house.runs(["skopeo", "copy", "docker-archive:x.tar", concat("", ["docker://", release])]),
		house.docker_build(["--push", "--tag", release, "."]),
		house.docker_build(["--output", "type=registry", "-t", release, "."]),
		house.docker_build(["--output=type=image,push=true", concat("", ["--tag=", release]), "."]),
	] {
		"OVN2022" in house.denied_commands([command])
	}
}

test_a_push_of_an_unknown_name_is_denied if "OVN2022" in house.denied_commands([house.runs(["docker", "push", "$image"])])

test_a_push_into_the_cache_passes if {
	not "OVN2022" in house.denied_commands([
		house.runs(["docker", "push", cache]),
		house.runs(["docker", "build", "push"]),
		house.docker_build(["--push", "--tag", cache, "."]),
	])
}

test_a_cache_beside_releases_is_denied if {
	every value in ["us-central1-docker.pkg.dev/p/images/x:c", "type=registry,ref=us-central1-docker.pkg.dev/p/images/x:c,mode=max"] {
		"OVN2023" in house.denied_commands([house.docker_build(["--cache-to", value, "."])])
	}
}

test_a_cache_in_its_repository_passes if {
	not "OVN2023" in house.denied_commands([house.docker_build([
		concat("", ["--cache-from=", cache]),
		"--cache-to", concat("", ["type=registry,ref=", cache]), ".",
	])])
}

test_a_build_that_records_its_time_is_denied if "OVN2024" in house.denied_commands([house.runs(["docker", "build", "."])])

test_a_build_without_time_passes if not "OVN2024" in house.denied_commands([house.docker_build(["."])])

test_a_build_that_attests_by_itself_is_denied if "OVN2025" in house.denied_commands([house.runs(["docker", "build", "."])])

test_a_build_that_does_not_attest_passes if {
	not "OVN2025" in house.denied_commands([house.docker_build(["."]), house.runs(["docker", "build", "--provenance=false", "."])])
}
