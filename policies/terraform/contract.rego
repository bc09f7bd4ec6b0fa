# That a document can be judged at all.
package main

import data.lib

# Plan and synth.
deny contains lib.message(
	"OVN001",
	"output.policy",
	"missing, so this plan does not come from our stacks or was cut",
	"plan a whole stack that `python -m infra` wrote",
) if {
	not lib.policy
}

# Plan: -target and deferred changes leave out what the rules would have seen; so does an error.
deny contains lib.message(
	"OVN002",
	"plan",
	"it is not complete",
	"plan again without -target, and without errors",
) if {
	partial
}

partial if input.complete == false

partial if input.errored == true
