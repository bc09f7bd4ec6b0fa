# Nothing is readable by everyone.
package main

import data.lib

everyone := `(^|[:"])all(Authenticated)?Users($|")`

# Plan and synth.
deny contains lib.message(
	"OVN101",
	found.resource,
	sprintf("%s is open to everyone (%s)", [concat(".", [sprintf("%v", [part]) | some part in found.path]), shown(found.text)]),
	"name a group or a service account",
) if {
	some found in lib.strings
	not startswith(found.type, "google_bigquery_")
	is_public(found)
}

# Plan and synth.
deny contains lib.message(
	"OVN102",
	resource.address,
	"public access is not prevented",
	`set public_access_prevention = "enforced"`,
) if {
	some resource in lib.resources
	resource.type == "google_storage_bucket"
	not resource.values.public_access_prevention == "enforced"
}

# Plan and synth.
deny contains lib.message(
	"OVN103",
	resource.address,
	"objects may have access lists of their own, which IAM does not show",
	"set uniform_bucket_level_access = true",
) if {
	some resource in lib.resources
	resource.type == "google_storage_bucket"
	not resource.values.uniform_bucket_level_access == true
}

# Plan and synth.
deny contains lib.message(
	"OVN104",
	found.resource,
	sprintf("the data can be queried by everyone (%s)", [shown(found.text)]),
	"name a group or a service account",
) if {
	some found in lib.strings
	startswith(found.type, "google_bigquery_")
	is_public(found)
}

# Filters of alerts and log metrics may well look for public grants.
is_public(found) if {
	regex.match(everyone, found.text)
	not regex.match(`^google_(monitoring|logging)_`, found.type)
}

# Cloud Storage's predefined access lists.
is_public(found) if found.text in {"publicRead", "publicReadWrite", "authenticatedRead"}

# A policy's JSON would fill the screen.
shown(text) := text if {
	count(text) < 40
} else := "in policy_data"
