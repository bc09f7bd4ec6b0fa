# What runs is named by digest: a tag may mean something else tomorrow.
package main

import data.lib

digest := `sha256:[0-9a-f]{64}`

registry_image := `[a-z0-9-]+-docker\.pkg\.dev/[^/\s"',]+/[^/\s"',]+/[^\s"',]+`

image_fields := {"container_image", "container_image_uri", "container_uri", "image", "image_uri", "name"}

# Plan and synth.
deny contains lib.message(
	"OVN311",
	template.address,
	sprintf("template %s is not named by digest", [template.uri]),
	"end it in /sha256:<64 hex digits>, as the upload printed it",
) if {
	some template in templates
	not regex.match(concat("", ["/", digest, "$"]), template.uri)
}

# Plan and synth.
deny contains lib.message(
	"OVN312",
	found.address,
	sprintf("image %s is not named by digest", [found.image]),
	"write IMAGE@sha256:<64 hex digits>, as the build printed it",
) if {
	some found in images
	not regex.match(concat("", ["@", digest]), found.image)
}

# Plan and synth.
deny contains lib.message(
	"OVN313",
	found.resource,
	sprintf("%s is in Container Registry, which is shut down", [image]),
	"use an image in Artifact Registry, REGION-docker.pkg.dev",
) if {
	some found in lib.strings
	some image in regex.find_n(`\b(?:[a-z]+\.)?gcr\.io/[^\s"',]*`, found.text, -1)
}

# Pipeline templates, in attributes and in the body that Cloud Scheduler sends.
templates contains {"address": found.resource, "uri": found.text} if {
	some found in lib.strings
	found.path[count(found.path) - 1] in {"template_uri", "templateUri"}
	lib.written(found.text)
}

templates contains {"address": body.address, "uri": body.content.templateUri} if {
	some body in bodies
	is_string(body.content.templateUri)
}

# A reference that names an image in Artifact Registry. One with $ is completed by the build; a cache is no release.
images contains {"address": found.resource, "image": image} if {
	some found in lib.strings
	some image in regex.find_n(registry_image, found.text, -1)
	not contains(image, "$")
	not endswith(split(image, "/")[2], "-cache")
	not is_target(found, image)
}

# Elsewhere than in Artifact Registry an image is known by the field it stands in.
images contains {"address": found.resource, "image": found.text} if {
	some found in lib.strings
	is_image_field(found.path)
	not contains(found.text, "$")
	not contains(found.text, "-docker.pkg.dev/")
	not contains(found.text, "gcr.io/")
}

is_image_field(path) if {
	field := path[count(path) - 1]
	field in image_fields - {"image", "name"}
}

is_image_field(path) if {
	path[count(path) - 1] == "image"
	some part in path
	part in {"container", "container_spec", "containers"}
}

# A Cloud Build step's name is the image it runs in.
is_image_field(path) if {
	path[count(path) - 1] == "name"
	path[count(path) - 3] == "step"
}

is_image_field(path) if {
	path[count(path) - 1] == "name"
	path[count(path) - 2] == "step"
}

# A trigger's substitution without a tag is the name that its build pushes to.
is_target(found, image) if {
	found.type == "google_cloudbuild_trigger"
	found.path[0] == "substitutions"
	not regex.match(`[:@]`, image)
}
