# No credential that outlives the work it is for.
package main

import data.lib

long_lived := {"google_service_account_key": "a service account", "google_storage_hmac_key": "Cloud Storage"}

# Plan and synth.
deny contains lib.message(
	"OVN207",
	resource.address,
	sprintf("a key for %s does not expire, and stands readable in Terraform's state", [long_lived[resource.type]]),
	"attach the account to what runs, or use workload identity federation",
) if {
	some resource in lib.resources
	long_lived[resource.type]
}
