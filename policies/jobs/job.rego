# What is sent to Vertex AI: a request for a job as `overnight job render` prints it, or for a run of a pipeline; a
# PipelineJob also without the request around it. Beside it data.allowed_registries, the environment file's.
package job

# The kinds, with the field that holds what each of its machines runs.
specs := {"customJob": "jobSpec", "hyperparameterTuningJob": "trialJobSpec"}

jobs[kind] := input[kind] if {
	some kind in object.keys(specs)
	is_object(input[kind])
}

# Undefined when the document is no pipeline; its address is empty when nothing is around it.
pipeline := {"address": "pipelineJob", "content": input.pipelineJob} if {
	is_object(input.pipelineJob)
} else := {"address": "", "content": input} if {
	some field in ["pipelineSpec", "templateUri"]
	input[field]
}

# Jobs and pipelines alike: who runs it, and its labels.
runs contains {"address": kind, "labels": object_at(content, "labels"), "account": account} if {
	some kind, content in jobs
	account := {
		"address": concat(".", [kind, specs[kind], "serviceAccount"]),
		"value": text_at(object_at(content, specs[kind]), "serviceAccount"),
	}
}

runs contains {"address": pipeline.address, "labels": object_at(pipeline.content, "labels"), "account": account} if {
	account := {
		"address": address([pipeline.address, "serviceAccount"]),
		"value": text_at(pipeline.content, "serviceAccount"),
	}
}

# Images in the fields that hold one; what a pipeline fills in when it runs, `{{…}}`, is not known yet.
images contains {"address": address(path), "field": path[count(path) - 1], "image": image} if {
	walk(input, [path, image])
	is_string(image)
	is_image_field(path)
	not contains(image, "{{")
}

is_image_field(path) if path[count(path) - 1] in {"imageUri", "image_uri", "executorImageUri", "executor_image_uri"}

is_image_field(path) if {
	path[count(path) - 1] == "image"
	path[count(path) - 2] == "container"
}

# HOST/PATH of an image.
name(image) := regex.replace(image, `(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(@.*)?$`, "")

# A tag where nothing else says which image is meant.
tag(image) := trim_prefix(regex.find_n(`:[^/:@]*$`, image, 1)[0], ":") if {
	not contains(image, "@")
	regex.match(`/[^/:@]*:[^/:@]*$`, image)
} else := ""

is_pinned(image) if regex.match(`@sha256:[0-9a-f]{64}$`, image)

is_gone(image) if regex.match(`^([a-z0-9-]+\.)?gcr\.io/`, image)

is_reduction_server(image) if contains(image, "/reductionserver")

# Google supports no tag of a prebuilt image but latest (vertex-facts 0 rule 18), and only here.
is_prebuilt(found) if {
	found.field in {"executorImageUri", "executor_image_uri"}
	regex.match(`^(us|europe|asia)-docker\.pkg\.dev/vertex-ai(-restricted)?/training/`, found.image)
}

# The project's id; undefined where the request names it by number, or there is none.
project := id if {
	is_string(input.parent)
	id := split(input.parent, "/")[1]
	not regex.match(`^[0-9]+$`, id)
}

# Every string, with the path to it.
texts contains {"address": address(path), "text": text} if {
	walk(input, [path, text])
	is_string(text)
}

address(path) := concat("", [trim_prefix(regex.replace(written, `\s`, "_"), "."), whole]) if {
	written := concat("", [piece | some part in path; part != ""; piece := step(part)])
	whole := {true: "request", false: ""}[written == ""]
}

step(part) := sprintf("[%d]", [part]) if {
	is_number(part)
} else := sprintf(".%v", [part])

object_at(value, field) := value[field] if {
	is_object(value)
	is_object(value[field])
} else := {}

text_at(value, field) := value[field] if {
	is_object(value)
	is_string(value[field])
} else := ""
