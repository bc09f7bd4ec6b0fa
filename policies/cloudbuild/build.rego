# A Cloud Build file, read as JSON, and what is known beside it: data.substitutions, the values that its trigger
# passes, and data.commands, the commands that its steps run (overnight/builds/commands.py). Without them, as under
# conftest, the file's own substitutions count, and rules about commands say nothing.
package build

given[name] := value if {
	is_object(input.substitutions)
	some name, value in input.substitutions
	is_string(value)
	not passed[name]
}

given[name] := value if some name, value in passed

passed[name] := value if {
	is_object(data.substitutions)
	some name, value in data.substitutions
	is_string(value)
}

# $X and ${X} with their values; a name without one stays as it is.
filled(text) := concat("", [piece |
	some token in regex.find_n(`\$\$|\$\{[A-Z_][A-Z0-9_]*\}|\$[A-Z_][A-Z0-9_]*|[^$]+|\$`, text, -1)
	piece := piece_of(token)
])

piece_of(token) := value if {
	startswith(token, "$")
	value := given[trim(token, "${}")]
} else := token

# Every text of the file, filled in, with the address of its field.
texts contains {"address": address(path), "path": path, "text": filled(text)} if {
	walk(input, [path, text])
	is_string(text)
}

address(path) := trim_prefix(concat("", [piece | some part in path; piece := written(part)]), ".")

written(part) := sprintf("[%d]", [part]) if {
	is_number(part)
} else := concat("", [".", part])

steps[index] := step if {
	is_array(input.steps)
	some index, step in input.steps
	is_object(step)
}

options := input.options if {
	is_object(input.options)
} else := {}

# What Cloud Build pushes at the end.
images contains {"address": sprintf("images[%d]", [index]), "image": filled(image)} if {
	is_array(input.images)
	some index, image in input.images
	is_string(image)
}

images contains {"address": sprintf("artifacts.images[%d]", [index]), "image": filled(image)} if {
	is_object(input.artifacts)
	is_array(input.artifacts.images)
	some index, image in input.artifacts.images
	is_string(image)
}

commands[index] := command if {
	is_array(data.commands)
	some index, command in data.commands
}

program(command) := name if {
	parts := split(command.words[0], "/")
	name := parts[count(parts) - 1]
}

# The values of an option, as `--tag X` and as `--tag=X`.
values(command, names) := {value |
	some place, word in command.words
	word in names
	value := command.words[place + 1]
} | {value |
	some word in command.words
	some name in names
	startswith(word, concat("", [name, "="]))
	value := substring(word, count(name) + 1, -1)
}

container_programs := {"docker", "podman", "buildah", "docker-buildx"}

builds_image(command) if {
	program(command) in container_programs
	some word in array.slice(command.words, 1, 4)
	word in {"build", "bud"}
}

is_digest(image) if regex.match(`@sha256:[0-9a-f]{64}$`, image)

# Whether an image is in the repository of build caches, whose tags may move.
is_cache(image) if startswith(image, concat("", [given._CACHE_REPOSITORY, "/"]))
