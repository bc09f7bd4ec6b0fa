# What cannot be made again is not destroyed while the environment file says protect: true.
package main

import data.lib

# Synth: the plan's JSON leaves lifecycle out.
deny contains lib.message(
	"OVN601",
	resource.address,
	"nothing keeps Terraform from destroying it",
	"write lifecycle=self.kept",
) if {
	lib.is_synth
	lib.protect
	some resource in lib.resources
	lib.is_stateful(resource.type, resource.values)
	not is_kept(resource)
}

# Plan.
deny contains lib.message(
	"OVN602",
	address,
	sprintf("it would be %s%s", [destroyed(changed.change.actions), because(changed.change)]),
	"undo the change that asks for it, or give the new one another name; only an environment with protect: false is torn down",
) if {
	lib.protect
	some address, changed in lib.changes
	"delete" in changed.change.actions
	lib.is_stateful(changed.type, lib.listed_object(changed.change, "before"))
}

# Plan and synth.
deny contains lib.message(
	"OVN603",
	resource.address,
	sprintf("%s lets Terraform delete what is in it", [attribute]),
	sprintf("set %s = false; empty it by hand when that is meant", [attribute]),
) if {
	some resource in lib.resources
	some attribute in ["force_destroy", "delete_contents_on_destroy"]
	resource.values[attribute] == true
}

is_kept(resource) if {
	some lifecycle in lib.blocks(resource.values, "lifecycle")
	lifecycle.prevent_destroy == true
}

destroyed(actions) := "destroyed and made again" if {
	"create" in actions
} else := "destroyed"

because(change) := sprintf(", because of %s", [concat(", ", paths)]) if {
	is_array(change.replace_paths)
	paths := [concat(".", [sprintf("%v", [part]) | some part in path]) | some path in change.replace_paths]
	count(paths) > 0
} else := ""
