# Customer-managed keys, where the environment file says cmek.enabled: true.
package main

import data.lib

# Where each type names its key: the block ("" for none) and the attribute.
key_places := {
	"google_artifact_registry_repository": ["", "kms_key_name"],
	"google_bigquery_dataset": ["default_encryption_configuration", "kms_key_name"],
	"google_pubsub_topic": ["", "kms_key_name"],
	"google_storage_bucket": ["encryption", "default_kms_key_name"],
	"google_vertex_ai_persistent_resource": ["encryption_spec", "kms_key_name"],
	"google_vertex_ai_tensorboard": ["encryption_spec", "kms_key_name"],
}

# Plan and synth.
deny contains lib.message(
	"OVN611",
	resource.address,
	"it is encrypted with Google's key, and the configuration asks for ours",
	sprintf("set %s", [trim_prefix(concat(".", key_places[resource.type]), ".")]),
) if {
	lib.policy.cmek == true
	some resource in lib.resources
	key_places[resource.type]
	not has_key(resource)
}

# Plan and synth; whether or not cmek is on.
deny contains lib.message(
	"OVN612",
	resource.address,
	"its versions are not renewed within a year",
	`set rotation_period, such as "7776000s" for 90 days`,
) if {
	some resource in lib.resources
	resource.type == "google_kms_crypto_key"
	object.get(resource.values, "purpose", null) in {null, "", "ENCRYPT_DECRYPT"}
	not is_rotated(resource)
}

# Plan and synth; whether or not cmek is on. A multi-region is OVN501's.
deny contains lib.message(
	"OVN613",
	resource.address,
	sprintf("its key is in %s, the resource in %s", [location, lib.place(resource)]),
	"use a key of the same region: the service refuses any other",
) if {
	some resource in lib.resources
	some key in keys_of(resource)
	location := split(key, "/")[3]
	location != lib.place(resource)
	lib.is_region(lib.place(resource))
}

has_key(resource) if {
	[block, attribute] := key_places[resource.type]
	block != ""
	lib.given_in_block(resource, block, attribute)
}

has_key(resource) if {
	[block, attribute] := key_places[resource.type]
	block == ""
	lib.given(resource, attribute)
}

keys_of(resource) := {found |
	[block, attribute] := key_places[resource.type]
	some holder in array.concat(lib.blocks(resource.values, block), [resource.values])
	found := holder[attribute]
	lib.written(found)
	startswith(found, "projects/")
	count(split(found, "/")) > 3
}

is_rotated(resource) if resource.unknown.rotation_period == true

is_rotated(resource) if contains(lib.string_at(resource.values, "rotation_period"), "${")

is_rotated(resource) if {
	regex.match(`^[0-9]+s$`, lib.string_at(resource.values, "rotation_period"))
	to_number(trim_suffix(resource.values.rotation_period, "s")) <= 31536000
}
