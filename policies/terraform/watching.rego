# An alert that nobody hears, a budget that says nothing, a metric that nobody looks at.
package main

import data.lib

# Plan and synth.
warn contains lib.message(
	"OVN911",
	resource.address,
	"nobody hears of it",
	"add notification_channels",
) if {
	some resource in lib.resources
	resource.type == "google_monitoring_alert_policy"
	not lib.any_of(resource, "notification_channels")
}

# Plan and synth.
warn contains lib.message(
	"OVN912",
	resource.address,
	"it has no thresholds, so it never says anything",
	"add threshold_rules",
) if {
	some resource in lib.resources
	resource.type == "google_billing_budget"
	not lib.any_of(resource, "threshold_rules")
}

# Plan and synth.
warn contains lib.message(
	"OVN913",
	resource.address,
	"no alert and no dashboard uses it",
	"use it, or drop it",
) if {
	some resource in lib.resources
	resource.type == "google_logging_metric"
	not is_used(resource)
}

is_used(metric) if {
	some found in lib.strings
	found.resource != metric.address
	contains(found.text, sprintf("logging.googleapis.com/user/%s", [lib.string_at(metric.values, "name")]))
}

is_used(metric) if {
	some address, targets in lib.edges
	address != metric.base
	metric.base in targets
}
