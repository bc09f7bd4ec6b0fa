# Only Cloud Build itself pushes a release: it reports the digest and makes the provenance (vertex-facts 5).
package main

import data.build
import data.lib

deny contains lib.message(
	"OVN2021",
	"options.requestedVerifyOption",
	"images are pushed although their provenance may be missing",
	"set options.requestedVerifyOption: VERIFIED",
) if {
	count(build.images) > 0
	object.get(build.options, "requestedVerifyOption", "") != "VERIFIED"
}

deny contains lib.message(
	"OVN2022",
	command.address,
	sprintf("this step pushes %s by itself, without provenance", [target]),
	"push to $_CACHE_REPOSITORY only, and name the release under images",
) if {
	some command in build.commands
	some target in pushed(command)
	not build.is_cache(target)
}

pushed(command) := {target |
	build.program(command) in build.container_programs
	is_push(command.words)
	plain := [word | some word in command.words; not startswith(word, "-")]
	target := trim_prefix(plain[count(plain) - 1], "docker://")
} | {target |
	build.program(command) in {"skopeo", "crane", "oras", "regctl"}
	some verb in command.words
	verb in {"copy", "push", "cp", "sync"}
	target := trim_prefix(command.words[count(command.words) - 1], "docker://")
} | {target |
	build.builds_image(command)
	pushes_itself(command)
	some target in build.values(command, {"--tag", "-t"})
}

is_push(words) if words[1] == "push"

is_push(words) if {
	words[1] in {"image", "manifest"}
	words[2] == "push"
}

pushes_itself(command) if "--push" in command.words

pushes_itself(command) if {
	some value in build.values(command, {"--output", "-o"})
	regex.match(`type=registry|push=true`, value)
}

deny contains lib.message(
	"OVN2023",
	command.address,
	sprintf("the cache %s is not in the cache repository", [reference]),
	"keep caches in $_CACHE_REPOSITORY, whose tags may move",
) if {
	some command in build.commands
	build.builds_image(command)
	some value in build.values(command, {"--cache-from", "--cache-to"})
	reference := cached(value)
	not build.is_cache(reference)
}

# Of `type=registry,ref=IMAGE,mode=max` the image.
cached(value) := reference if {
	contains(value, "=")
	some part in split(value, ",")
	startswith(part, "ref=")
	reference := trim_prefix(part, "ref=")
} else := value if not contains(value, "=")

deny contains lib.message(
	"OVN2024",
	command.address,
	"docker build writes the time into the image, so no two builds are the same",
	"add --build-arg SOURCE_DATE_EPOCH=0",
) if {
	some command in build.commands
	build.builds_image(command)
	not is_timeless(command)
}

is_timeless(command) if {
	some value in build.values(command, {"--build-arg"})
	regex.match(`^SOURCE_DATE_EPOCH(=.+)?$`, value)
}

# The index around an attestation holds the time of the build: its digest is another one every time.
deny contains lib.message(
	"OVN2025",
	command.address,
	"docker build attests by itself, so no two builds have the same digest",
	"set BUILDX_NO_DEFAULT_ATTESTATIONS=1",
) if {
	some command in build.commands
	build.builds_image(command)
	build.program(command) in {"docker", "docker-buildx"}
	not is_plain(command)
}

is_plain(command) if command.environment.BUILDX_NO_DEFAULT_ATTESTATIONS in {"1", "true"}

is_plain(command) if "false" in build.values(command, {"--provenance"})
