# A build that passes, for the tests of all subjects, and tests of how a file is read.
package build_test

import data.build
import data.testing

digest := "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

builder := concat("@", ["us-central1-docker.pkg.dev/p/images/builder", digest])

substitutions := {
	"_BUILDER_IMAGE": builder,
	"_REPOSITORY": "us-central1-docker.pkg.dev/p/images",
	"_CACHE_REPOSITORY": "us-central1-docker.pkg.dev/p/cache",
	"COMMIT_SHA": "0123456",
}

file(changes) := object.union(
	{
		"steps": [{"id": "build", "name": "$_BUILDER_IMAGE", "script": "make"}],
		"images": ["$_REPOSITORY/trainer:$COMMIT_SHA"],
		"options": {
			"logging": "CLOUD_LOGGING_ONLY",
			"requestedVerifyOption": "VERIFIED",
			"pool": {"name": "$_POOL"},
		},
	},
	changes,
)

step(changes) := file({"steps": [object.union({"id": "build", "name": "$_BUILDER_IMAGE"}, changes)]})

runs(words) := {"step": 0, "address": "steps[0].script", "words": words, "environment": {}, "piped": false}

docker_build(more) := object.union(
	runs(array.concat(
		[
			"docker", "build",
			"--build-arg", concat("", ["BUILDER_IMAGE=", builder]),
			concat("", ["--build-arg=RUNTIME_IMAGE=", builder]),
			"--build-arg", "SOURCE_DATE_EPOCH=0",
		],
		more,
	)),
	{"environment": {"BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}},
)

denied_commands(commands) := ids if {
	ids := testing.denied with input as file({}) with data.commands as commands with data.substitutions as substitutions
}

denied_file(content) := ids if {
	ids := testing.denied with input as content with data.commands as [] with data.substitutions as substitutions
}

test_a_build_in_order_passes if count(denied_file(file({}))) == 0

test_an_image_build_in_order_passes if count(denied_commands([docker_build(["--tag", "x", "."])])) == 0

test_without_what_stands_beside_it_a_file_is_judged_by_its_own_substitutions if {
	count(testing.denied) == 0 with input as file({})
}

test_both_spellings_are_filled_in if {
	build.filled("$_A-${_A}-$$_A-$_B-$x") == "1-1-$$_A-$_B-$x" with data.substitutions as {"_A": "1"}
}

test_what_the_trigger_passes_comes_before_the_files_own_value if {
	build.filled("$_A$_B") == "12" with input as {"substitutions": {"_A": "9", "_B": "2"}}
		with data.substitutions as {"_A": "1"}
}

test_an_address_names_the_field if {
	build.address(["steps", 0, "args", 2]) == "steps[0].args[2]"
}
