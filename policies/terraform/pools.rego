# A pool is billed while it exists: someone answers for it, until a day.
package main

import data.lib

# Plan and synth.
deny contains lib.message(
	"OVN801",
	resource.address,
	sprintf("pool %s has no owner or no day on which it expires", [lib.string_at(resource.values, "name")]),
	"give it both under persistent_resources in the environment file",
) if {
	lib.policy
	some resource in pools
	not is_owned(resource)
}

# Plan and synth; needs the day: data.now, or the plan's own time.
deny contains lib.message(
	"OVN802",
	resource.address,
	sprintf("pool %s was to be kept until %s, and today is %s", [resource.values.name, expires, lib.today]),
	"remove it from the environment file, or decide on a later day with its owner",
) if {
	some resource in pools
	expires := lib.policy.persistent_resources[resource.values.name].expires
	expires < lib.today
}

pools contains resource if {
	some resource in lib.resources
	resource.type == "google_vertex_ai_persistent_resource"
}

is_owned(resource) if {
	entry := lib.policy.persistent_resources[resource.values.name]
	contains(lib.string_at(entry, "owner"), "@")
	regex.match(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`, lib.string_at(entry, "expires"))
}
