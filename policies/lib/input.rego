# What rules read: one table of resources, whichever of the two documents they are given.
#   plan   terraform show -json PLAN   input.planned_values, resource_changes, configuration
#   synth  cdk.tf.json as synthesized  input.resource; has lifecycle, which the plan's JSON leaves out
package lib

is_plan if is_object(input.planned_values)

is_synth if is_object(input.resource)

# What the environment file demands: the output `policy` of every stack (infra/constructs/stack.py). A plan that
# destroys everything has lost its outputs; there it is what the last apply left.
policy := value if {
	value := input.planned_values.outputs.policy.value
	is_ours(value)
} else := value if {
	value := input.output.policy.value
	is_ours(value)
} else := value if {
	value := input.output_changes.policy.before
	is_ours(value)
}

# Others may well have an output of this name.
is_ours(value) if {
	is_string(value.environment)
	is_string(value.stack)
	is_array(value.allowed_regions)
	is_array(value.required_labels)
	is_array(value.required_apis)
	is_object(value.persistent_resources)
}

# Without the output the strictest is assumed.
default protect := true

protect := false if policy.protect == false

# Keyed by address. `values` are the attributes; `unknown` says what is known only after apply (empty for synth);
# `base` is the address without count's or for_each's key, as configuration and references write it.
resources[address] := resource if {
	some found in planned
	address := found.address
	resource := {
		"address": address,
		"base": base_of(address),
		"type": found.type,
		"name": found.name,
		"values": found.values,
		"unknown": unknown_of(address),
	}
}

resources[address] := resource if {
	is_synth
	some type, by_name in input.resource
	is_object(by_name)
	some name, values in by_name
	is_object(values)
	address := sprintf("%s.%s", [type, name])
	resource := {"address": address, "base": address, "type": type, "name": name, "values": values, "unknown": {}}
}

planned contains found if {
	is_array(input.planned_values.root_module.resources)
	some found in input.planned_values.root_module.resources
	found.mode == "managed"
	is_object(found.values)
}

planned contains found if {
	is_array(input.planned_values.root_module.child_modules)
	walk(input.planned_values.root_module.child_modules, [_, module])
	is_object(module)
	is_array(module.resources)
	some found in module.resources
	is_object(found.values)
	found.mode == "managed"
}

changes[address] := changed if {
	is_array(input.resource_changes)
	some changed in input.resource_changes
	changed.mode == "managed"
	not changed.deposed
	address := changed.address
}

base_of(address) := regex.replace(address, `\[[^\]]*\]$`, "")

unknown_of(address) := unknown if {
	unknown := changes[address].change.after_unknown
	is_object(unknown)
} else := {}

# Configuration of the root module, by address.
configured[address] := resource if {
	is_array(input.configuration.root_module.resources)
	some resource in input.configuration.root_module.resources
	address := resource.address
}

# The day to judge expiries by: given with the data, or the plan's own time.
today := data.now if {
	is_string(data.now)
} else := substring(input.timestamp, 0, 10) if {
	is_string(input.timestamp)
}

# ADDRESS: what is wrong; what to do [ID]
message(id, address, problem, remedy) := sprintf("%s: %s; %s [%s]", [address, problem, remedy, id])
