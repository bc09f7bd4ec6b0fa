# Everything stands in the regions of the environment file: data that crosses regions is slow and is billed.
package main

import data.lib

# Types for which "global" is a place like others, or the only one.
global_types := {
	"google_cloudbuild_trigger",
	"google_iam_workload_identity_pool",
	"google_kms_key_ring",
	"google_logging_project_bucket_config",
	"google_monitoring_uptime_check_config",
}

# Plan and synth.
deny contains lib.message(
	"OVN501",
	resource.address,
	sprintf("%s is a multi-region: training reads across regions", [spread]),
	sprintf("set location to one of: %s", [allowed_text]),
) if {
	some resource in lib.resources
	some spread in spreads(resource)
}

# Plan and synth.
deny contains lib.message(
	"OVN502",
	place.address,
	sprintf("%s %s is not an allowed region", [place.attribute, place.region]),
	sprintf("use one of: %s; or extend allowed_regions", [allowed_text]),
) if {
	some place in places
	not place.region in lib.policy.allowed_regions
	not is_global(place)
	count(spreads(lib.resources[place.address])) == 0
	lib.policy
}

allowed_text := concat(", ", lib.policy.allowed_regions)

# Why a bucket's or a dataset's location is more than one region; empty when it is one.
spreads(resource) := found if {
	resource.type in {"google_storage_bucket", "google_bigquery_dataset"}
	found := spread_location(resource) | spread_placement(resource)
} else := set()

spread_location(resource) := {resource.values.location} if {
	lib.written(resource.values.location)
	not lib.is_region(lower(resource.values.location))
} else := {"US, the default,"} if {
	not lib.given(resource, "location")
} else := set()

spread_placement(resource) := {concat(" and ", regions) |
	some placement in lib.blocks(resource.values, "custom_placement_config")
	regions := placement.data_locations
	is_array(regions)
}

places contains {"address": resource.address, "type": resource.type, "attribute": attribute, "region": region} if {
	some resource in lib.resources
	some attribute in ["location", "region", "zone"]
	lib.written(resource.values[attribute])
	region := regex.replace(lower(resource.values[attribute]), `^([a-z]+-[a-z]+[0-9]+)-[a-z]$`, "$1")
}

places contains {"address": resource.address, "type": resource.type, "attribute": attribute, "region": region} if {
	some resource in lib.resources
	attribute := "message_storage_policy"
	some storage in lib.blocks(resource.values, attribute)
	is_array(storage.allowed_persistence_regions)
	some region in storage.allowed_persistence_regions
	lib.written(region)
}

places contains {"address": resource.address, "type": resource.type, "attribute": attribute, "region": region} if {
	some resource in lib.resources
	attribute := "replication"
	some replication in lib.blocks(resource.values, attribute)
	some managed in lib.blocks(replication, "user_managed")
	some replica in lib.blocks(managed, "replicas")
	region := replica.location
	lib.written(region)
}

is_global(place) if {
	place.region == "global"
	place.type in global_types
}
