# What runs, and what is built from, is named by digest.
package main

import data.build
import data.lib

deny contains lib.message(
	"OVN2001",
	sprintf("steps[%d].name", [index]),
	sprintf("this step runs in %s, which is not named by digest", [step.name]),
	"write IMAGE@sha256:<64 hex digits>, or $_BUILDER_IMAGE",
) if {
	some index, step in build.steps
	is_string(step.name)
	step.name != ""
	not is_pinned(step.name)
}

# The environment file takes nothing but digests for these (overnight/config/delivery.py).
is_pinned(image) if regex.match(`^\$\{?(_BUILDER_IMAGE|_BASE_[A-Z_]+)\}?$`, image)

is_pinned(image) if build.is_digest(build.filled(image))

deny contains lib.message(
	"OVN2002",
	found.address,
	sprintf("%s is in Container Registry, which is shut down", [image]),
	"use an image in Artifact Registry, REGION-docker.pkg.dev",
) if {
	some found in build.texts
	some image in regex.find_n(`\b(?:[a-z]+\.)?gcr\.io/[^\s"',]*`, found.text, -1)
}

deny contains lib.message(
	"OVN2003",
	found.address,
	"the tag latest names another image tomorrow",
	"name the image by its commit, or by digest",
) if {
	some found in build.texts
	not is_step_name(found.path)
	regex.match(`[A-Za-z0-9_]:latest\b`, found.text)
}

deny contains lib.message(
	"OVN2003",
	found.address,
	sprintf("%s has no tag, so it becomes latest", [found.image]),
	"name it by its commit, such as IMAGE:$COMMIT_SHA",
) if {
	some found in build.images
	not regex.match(`[:@][^/]+$`, found.image)
}

# OVN2001 speaks about those.
is_step_name(path) if {
	count(path) == 3
	path[0] == "steps"
	path[2] == "name"
}

deny contains lib.message(
	"OVN2004",
	command.address,
	sprintf("docker build is given no %s", [name]),
	sprintf("add --build-arg %s=IMAGE@sha256:<64 hex digits>", [name]),
) if {
	some command in build.commands
	build.builds_image(command)
	some name in ["BUILDER_IMAGE", "RUNTIME_IMAGE"]
	count(base_images(command, name)) == 0
}

deny contains lib.message(
	"OVN2005",
	command.address,
	sprintf("%s is %s, which is not named by digest", [name, image]),
	"give IMAGE@sha256:<64 hex digits>",
) if {
	some command in build.commands
	build.builds_image(command)
	some name in ["BUILDER_IMAGE", "RUNTIME_IMAGE"]
	some image in base_images(command, name)
	not is_pinned(image)
}

base_images(command, name) := {image |
	some value in build.values(command, {"--build-arg"})
	startswith(value, concat("", [name, "="]))
	image := substring(value, count(name) + 1, -1)
	image != ""
}
