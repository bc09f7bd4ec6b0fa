# Who builds: never by accident, never with the rights of a merge for code nobody has read.
package main

import data.lib

event_blocks := ["repository_event_config", "github", "developer_connect_event_config", "bitbucket_server_trigger_config"]

# Plan and synth.
deny contains lib.message(
	"OVN901",
	trigger.address,
	"no service account is set, so it runs as the project's default one",
	"set service_account to the account of its role",
) if {
	some trigger in triggers
	not lib.given(trigger, "service_account")
}

# Plan and synth.
deny contains lib.message(
	"OVN902",
	trigger.address,
	"it applies infrastructure without anyone's approval",
	"set approval_config.approval_required = true",
) if {
	some trigger in triggers
	some file in build_files(trigger)
	contains(lower(file), "apply")
	not is_approved(trigger)
}

# Plan and synth.
deny contains lib.message(
	"OVN903",
	trigger.address,
	"pull requests, code that nobody has read, run as the build or deploy account",
	"use the account of the role check",
) if {
	some trigger in triggers
	is_for_pull_requests(trigger)
	lib.is_account_of(lib.account_ids(trigger, object.get(trigger.values, "service_account", null)), {"build", "deploy"})
}

triggers contains resource if {
	some resource in lib.resources
	resource.type == "google_cloudbuild_trigger"
}

build_files(trigger) := {file | file := trigger.values.filename; is_string(file)} | {file |
	some source in lib.blocks(trigger.values, "git_file_source")
	file := source.path
	is_string(file)
}

is_approved(trigger) if {
	some approval in lib.blocks(trigger.values, "approval_config")
	approval.approval_required == true
}

is_for_pull_requests(trigger) if {
	some block in event_blocks
	some event in lib.blocks(trigger.values, block)
	count(lib.blocks(event, "pull_request")) > 0
}
