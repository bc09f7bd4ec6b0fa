package watching_test

import data.testing

alert(values) := ["google_monitoring_alert_policy", "a", values]

metric := ["google_logging_metric", "m", {"name": "waits"}]

test_an_alert_for_nobody_is_warned_about if {
	"OVN911" in testing.warned with input as testing.plan([alert({"notification_channels": null})])
}

test_an_alert_for_nobody_in_a_stack_is_warned_about if "OVN911" in testing.warned with input as testing.synth([alert({})])

test_an_alert_for_someone_passes if {
	not "OVN911" in testing.warned with input as testing.plan([alert({"notification_channels": [null]})])
}

test_channels_not_known_yet_pass if {
	not "OVN911" in testing.warned with input as testing.plan_with_unknown("google_monitoring_alert_policy", "a", {}, {"notification_channels": true})
}

test_a_budget_without_thresholds_is_warned_about if {
	"OVN912" in testing.warned with input as testing.plan([["google_billing_budget", "b", {"threshold_rules": []}]])
}

test_a_budget_with_thresholds_passes if {
	not "OVN912" in testing.warned with input as testing.plan([["google_billing_budget", "b", {"threshold_rules": [{"threshold_percent": 0.5}]}]])
}

test_an_unused_metric_is_warned_about if "OVN913" in testing.warned with input as testing.plan([metric])

test_a_metric_in_an_alert_passes if {
	not "OVN913" in testing.warned with input as testing.plan([metric, alert({"conditions": [{"filter": `metric.type="logging.googleapis.com/user/waits"`}]})])
}

test_a_metric_by_reference_passes if {
	not "OVN913" in testing.warned with input as testing.synth([metric, alert({"conditions": [{"filter": "${google_logging_metric.m.id}"}]})])
}

test_warnings_deny_nothing if {
	not "OVN911" in testing.denied with input as testing.plan([alert({"notification_channels": null, "user_labels": data.testing.labels})])
}
