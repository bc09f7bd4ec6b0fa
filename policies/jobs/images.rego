# What runs is known by its digest, and comes from where it was built.
package main

import data.job
import data.lib

deny contains lib.message(
	"OVN1011",
	found.address,
	sprintf("image %s is not named by digest", [found.image]),
	"write HOST/PATH@sha256:<64 hex digits>, as overnight image pin does",
) if {
	some found in ours
	not job.is_pinned(found.image)
	not job.is_reduction_server(found.image)
	job.tag(found.image) != "latest"
}

deny contains lib.message(
	"OVN1012",
	found.address,
	sprintf("%s is in Container Registry, which is shut down", [image]),
	"use an image in Artifact Registry, REGION-docker.pkg.dev",
) if {
	some found in job.texts
	some match in regex.find_all_string_submatch_n(gone, found.text, -1)
	image := match[1]
}

# As a host: in Artifact Registry a repository may be called gcr.io.
gone := `(?:^|://|[^A-Za-z0-9_./-])((?:[a-z0-9-]+\.)?gcr\.io/[^\s"',]*)`

deny contains lib.message(
	"OVN1013",
	found.address,
	sprintf("image %s is another one tomorrow", [found.image]),
	"write HOST/PATH@sha256:<64 hex digits>, as overnight image pin does",
) if {
	some found in ours
	not job.is_reduction_server(found.image)
	job.tag(found.image) == "latest"
}

deny contains lib.message(
	"OVN1014",
	found.address,
	sprintf("image %s comes from neither the project %s nor an allowed registry", [found.image, job.project]),
	"build or copy it into the project, or give data.allowed_registries",
) if {
	some found in job.images
	not job.is_gone(found.image)
	not is_googles(found.image)
	not is_of_the_project(found.image)
	not is_allowed(found.image)
}

deny contains lib.message(
	"OVN1015",
	found.address,
	"Google may move the tag of Reduction Server on any day",
	"write the digest that overnight image resolve prints today",
) if {
	some found in job.images
	job.is_reduction_server(found.image)
	not job.is_pinned(found.image)
	not job.is_gone(found.image)
}

# A template holds the images of its steps; a tag lets them all change, and fails at times (vertex-facts 1.7).
deny contains lib.message(
	"OVN1016",
	job.address([job.pipeline.address, "templateUri"]),
	sprintf("template %s is not named by digest", [uri]),
	"end it in /sha256:<64 hex digits>, as the upload printed it",
) if {
	uri := job.pipeline.content.templateUri
	is_string(uri)
	uri != ""
	not regex.match(`/sha256:[0-9a-f]{64}$`, uri)
}

ours contains found if {
	some found in job.images
	not job.is_gone(found.image)
	not job.is_prebuilt(found)
}

is_googles(image) if regex.match(`^[a-z0-9-]+-docker\.pkg\.dev/vertex-ai(-restricted)?/`, image)

# A domain's project, example.com:vision, is two parts of a path.
is_of_the_project(image) if {
	path := regex.replace(image, `^[a-z0-9-]+-docker\.pkg\.dev/`, "")
	path != image
	startswith(path, concat("", [replace(job.project, ":", "/"), "/"]))
}

is_allowed(image) if {
	is_array(data.allowed_registries)
	some registry in data.allowed_registries
	startswith(concat("", [job.name(image), "/"]), concat("", [trim_suffix(registry, "/"), "/"]))
}
