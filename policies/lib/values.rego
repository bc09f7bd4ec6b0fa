# Reading attributes of which a plan may not know the value yet, and blocks that are written in two ways.
package lib

# A nested block as a list: plans always write a list, cdk.tf.json a single block as an object.
blocks(values, name) := found if {
	found := values[name]
	is_array(found)
} else := [found] if {
	found := values[name]
	is_object(found)
} else := []

# A string whose value is known now: cdk.tf.json writes references as ${...}.
written(text) if {
	is_string(text)
	text != ""
	not contains(text, "${")
}

# An attribute as a string; empty when it is null, not known yet or something else.
string_at(values, name) := values[name] if {
	is_string(values[name])
} else := ""

# Set to anything but an empty string, be it known only after apply.
given(resource, name) if {
	is_string(resource.values[name])
	resource.values[name] != ""
}

given(resource, name) if resource.unknown[name] == true

given_in_block(resource, block, name) if {
	some found in blocks(resource.values, block)
	is_string(found[name])
	found[name] != ""
}

given_in_block(resource, block, _) if resource.unknown[block] == true

given_in_block(resource, block, name) if {
	some found in blocks(resource.unknown, block)
	is_object(found)
	found[name] == true
}

# A list or a kind of block that has at least one item, be it known only after apply.
any_of(resource, name) if count(blocks(resource.values, name)) > 0

any_of(resource, name) if resource.unknown[name] == true

# Every string in every resource, with the path to it.
strings contains {"resource": resource.address, "type": resource.type, "path": path, "text": text} if {
	some resource in resources
	walk(resource.values, [path, text])
	is_string(text)
	text != ""
}

# Where a resource stands; undefined when it has no place or it is not known yet.
place(resource) := lower(resource.values.location) if {
	written(resource.values.location)
} else := lower(resource.values.region) if {
	written(resource.values.region)
}

is_region(text) if regex.match(`^[a-z]+-[a-z]+[0-9]+$`, text)

# What cannot be made again: the resources that infra/ gives prevent_destroy.
stateful_types := {
	"google_artifact_registry_repository",
	"google_bigquery_dataset",
	"google_bigquery_table",
	"google_kms_crypto_key",
	"google_kms_key_ring",
	"google_storage_bucket",
	"google_vertex_ai_persistent_resource",
	"google_vertex_ai_tensorboard",
}

# A view holds nothing.
is_stateful(type, values) if {
	type in stateful_types
	count(blocks(values, "view")) == 0
	count(blocks(values, "materialized_view")) == 0
}
