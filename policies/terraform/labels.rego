# The bill and the audit find everything by its labels, except pools, which a label would destroy.
package main

import data.lib

# For cdk.tf.json, where an attribute that is not set does not appear; a plan shows it as null.
labelled_types := {
	"google_artifact_registry_repository",
	"google_bigquery_dataset",
	"google_bigquery_table",
	"google_kms_crypto_key",
	"google_pubsub_subscription",
	"google_pubsub_topic",
	"google_secret_manager_secret",
	"google_storage_bucket",
	"google_vertex_ai_dataset",
	"google_vertex_ai_endpoint",
	"google_vertex_ai_tensorboard",
	"google_workbench_instance",
}

user_labelled_types := {"google_monitoring_alert_policy", "google_monitoring_notification_channel"}

# Plan and synth.
deny contains lib.message(
	"OVN401",
	resource.address,
	sprintf("%s lacks %s", [attribute, concat(", ", missing)]),
	sprintf("write %s=self.labels", [attribute]),
) if {
	some resource in lib.resources
	attribute := label_attribute(resource)
	not resource.unknown[attribute] == true
	missing := sort({name | some name in lib.policy.required_labels} - object.keys(labels_of(resource, attribute)))
	count(missing) > 0
}

# Plan and synth.
deny contains lib.message(
	"OVN402",
	resource.address,
	sprintf("label %s is %s", [name, json.marshal(value)]),
	sprintf("it must be %s", [expected_label(name)]),
) if {
	some resource in lib.resources
	attribute := label_attribute(resource)
	some name, value in labels_of(resource, attribute)
	name in lib.policy.required_labels
	not is_right(name, value)
}

# Plan and synth.
deny contains lib.message(
	"OVN403",
	resource.address,
	"it carries labels, and any later change of one destroys the pool and makes it again",
	"remove them; who owns it stands in the output policy",
) if {
	some resource in lib.resources
	resource.type == "google_vertex_ai_persistent_resource"
	some attribute in ["labels", "effective_labels", "terraform_labels"]
	count(labels_of(resource, attribute)) > 0
}

# Plan and synth.
deny contains lib.message(
	"OVN404",
	sprintf("provider.%s", [provider.name]),
	"it adds labels of its own, also to pools, which any later change of them destroys",
	"set add_terraform_attribution_label = false and no default_labels",
) if {
	some resource in lib.resources
	resource.type == "google_vertex_ai_persistent_resource"
	some provider in providers
	not adds_nothing(provider)
}

# Monitoring has user_labels; a notification channel's labels are its address.
label_attribute(resource) := "user_labels" if {
	object.get(resource.values, "user_labels", "none") != "none"
} else := "user_labels" if {
	resource.type in user_labelled_types
} else := "labels" if {
	resource.type != "google_vertex_ai_persistent_resource"
	object.get(resource.values, "labels", "none") != "none"
} else := "labels" if {
	resource.type in labelled_types
}

labels_of(resource, attribute) := resource.values[attribute] if {
	is_object(resource.values[attribute])
} else := {}

is_right(name, value) if {
	is_string(value)
	regex.match(`^[a-z0-9_-]{1,63}$`, value)
	value == object.get(fixed_labels, name, value)
}

is_right(_, value) if {
	is_string(value)
	contains(value, "${")
}

fixed_labels := {
	"environment": lib.policy.environment,
	"managed_by": "overnight",
	"stack": lib.policy.stack,
}

expected_label(name) := fixed_labels[name] if {
	fixed_labels[name]
} else := "1 to 63 lower-case letters, digits, - and _"

providers contains {"name": name, "settings": settings} if {
	is_object(input.configuration.provider_config)
	some name, configured in input.configuration.provider_config
	configured.name in {"google", "google-beta"}
	settings := {setting: written.constant_value |
		some setting, written in lib.listed_object(configured, "expressions")
	}
}

providers contains {"name": name, "settings": settings} if {
	lib.is_synth
	some name in ["google", "google-beta"]
	some settings in lib.blocks(input.provider, name)
}

adds_nothing(provider) if {
	provider.settings.add_terraform_attribution_label == false
	count(object.get(provider.settings, "default_labels", {})) == 0
}
