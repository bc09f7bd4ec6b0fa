# Who builds, where, and where the log goes.
package main

import data.build
import data.lib

# Demanded of a build with an account of its own and no bucket for logs (vertex-facts 5).
deny contains lib.message(
	"OVN2011",
	"options.logging",
	"the log goes to a bucket that is not ours",
	"set options.logging: CLOUD_LOGGING_ONLY",
) if {
	build.steps
	object.get(build.options, "logging", "") != "CLOUD_LOGGING_ONLY"
}

# The trigger decides, which is reviewed infrastructure; a pull request could change this file.
deny contains lib.message(
	"OVN2012",
	"serviceAccount",
	"this file chooses who builds",
	"remove it: the trigger names the account",
) if {
	input.serviceAccount
}

deny contains lib.message(
	"OVN2013",
	"options.pool",
	"this build does not run on the environment's pool",
	"set options.pool.name: $_POOL",
) if {
	build.steps
	not on_the_pool
}

on_the_pool if {
	is_object(build.options.pool)
	build.options.pool.name in {"$_POOL", "${_POOL}"}
}

# Steps run in one image, and nothing that it lacks is fetched into it unseen.
deny contains lib.message(
	"OVN2014",
	found.address,
	"what the network answers is run as it comes",
	"bring the tool with the builder image, or check its digest first",
) if {
	some found in build.texts
	text := replace(found.text, "\\\n", " ")
	regex.match(`\b(curl|wget)\b[^|;\n]*\|\s*(sudo\s+|env\s+)?(\S*/)?((ba|da|z)?sh|python[0-9.]*)\b|\b(ba|da|z)?sh\b[^;\n]*(<\(|\$\(|\x60)\s*(curl|wget)\b`, text)
}

secret_name := `^(?:export\s+)?[A-Za-z0-9_]*(TOKEN|PASSWORD|PASSWD|SECRET|API_?KEY|PRIVATE_KEY|CREDENTIALS?)=`

# A literal: neither empty, nor filled in, nor the path of a file.
literal := `=["']?[^"'$/.\s]`

deny contains lib.message(
	"OVN2015",
	found.address,
	sprintf("%s is written into the file", [split(found.text, "=")[0]]),
	"keep it in Secret Manager, and name it under availableSecrets",
) if {
	some found in build.texts
	is_env(found.path)
	regex.match(concat("", ["(?i)", secret_name]), found.text)
	regex.match(literal, found.text)
}

deny contains lib.message(
	"OVN2015",
	sprintf("substitutions.%s", [name]),
	sprintf("%s is written into the file", [name]),
	"keep it in Secret Manager, and name it under availableSecrets",
) if {
	is_object(input.substitutions)
	some name, value in input.substitutions
	is_string(value)
	assigned := concat("", [name, "=", value])
	regex.match(secret_name, assigned)
	regex.match(literal, assigned)
}

is_env(path) if {
	count(path) > 1
	path[count(path) - 2] == "env"
}

deny contains lib.message(
	"OVN2016",
	command.address,
	sprintf("%s runs with power over the machine that builds", [build.program(command)]),
	sprintf("leave out %s", [word]),
) if {
	some command in build.commands
	build.program(command) in build.container_programs
	some word in power(command)
}

power(command) := {word |
	some word in command.words
	regex.match(`^(--privileged(=true)?|--(network|net|pid|ipc|userns)=host|--cap-add(=.*)?)$|docker\.sock`, word)
} | {sprintf("%s host", [command.words[place]]) |
	some place, word in command.words
	word == "host"
	command.words[place - 1] in {"--network", "--net", "--pid", "--ipc", "--userns"}
}

deny contains lib.message(
	"OVN2017",
	command.address,
	"pip installs what the index offers today",
	"add --require-hashes, or --constraint requirements/lock.txt",
) if {
	some command in build.commands
	is_pip(command)
	some word in command.words
	word in {"install", "download", "wheel"}
	not is_locked(command)
}

is_pip(command) if regex.match(`^pip[0-9.]*$`, build.program(command))

is_pip(command) if {
	regex.match(`^python[0-9.]*$`, build.program(command))
	some place, word in command.words
	word == "-m"
	command.words[place + 1] == "pip"
}

is_locked(command) if {
	some word in command.words
	regex.match(`^(--require-hashes|--no-index|--constraint(=.*)?|-c)$`, word)
}
