# For the tests: documents around a few resources, and the ids of the rules that speak up about them.
package testing

denied contains id_of(message) if some message in data.main.deny

warned contains id_of(message) if some message in data.main.warn

id_of(message) := trim_suffix(regex.find_n(`OVN[0-9]{3,4}\]$`, message, 1)[0], "]")

demands := {
	"environment": "prod",
	"stack": "training",
	"project_id": "acme-vision",
	"protect": true,
	"cmek": true,
	"allowed_regions": ["us-central1"],
	"required_labels": ["environment", "managed_by", "owner", "stack"],
	"required_apis": ["storage.googleapis.com"],
	"persistent_resources": {"night-v1": {"owner": "vision@acme.example", "expires": "2027-06-30"}},
}

labels := {"environment": "prod", "managed_by": "overnight", "owner": "vision", "stack": "training"}

member_of(role) := sprintf("serviceAccount:prod-%s@acme-vision.iam.gserviceaccount.com", [role])

# Resources of a test are [type, name, values].
plan(resources) := plan_for(demands, resources)

plan_for(policy, resources) := {
	"format_version": "1.2",
	"timestamp": "2026-12-01T02:00:00Z",
	"complete": true,
	"errored": false,
	"planned_values": {
		"outputs": {"policy": {"value": policy}},
		"root_module": {"resources": [planned |
			some [type, name, values] in resources
			planned := {
				"address": sprintf("%s.%s", [type, name]),
				"mode": "managed",
				"type": type,
				"name": name,
				"values": values,
			}
		]},
	},
	"resource_changes": [],
	"configuration": {"root_module": {}},
}

# A plan of one resource of which `unknown` is known only after apply.
plan_with_unknown(type, name, values, unknown) := object.union(plan([[type, name, values]]), {"resource_changes": [{
	"address": sprintf("%s.%s", [type, name]),
	"mode": "managed",
	"type": type,
	"name": name,
	"change": {"actions": ["create"], "before": null, "after": values, "after_unknown": unknown},
}]})

# A plan that does `actions` to one resource which is there already.
plan_to(actions, type, name) := object.union(plan([]), {"resource_changes": [{
	"address": sprintf("%s.%s", [type, name]),
	"mode": "managed",
	"type": type,
	"name": name,
	"change": {"actions": actions, "before": {}, "after": null, "after_unknown": {}, "replace_paths": [["location"]]},
}]})

# The plan with its configuration: [address, depends_on, expressions].
configured(plan_, resources) := object.union(plan_, {"configuration": {"root_module": {"resources": [resource |
	some [address, needs, expressions] in resources
	resource := {"address": address, "mode": "managed", "depends_on": needs, "expressions": expressions}
]}}})

synth(resources) := synth_for(demands, resources)

synth_for(policy, resources) := {
	"output": {"policy": {"value": policy}},
	"provider": {"google": [{"add_terraform_attribution_label": false}]},
	"resource": {type: named |
		some [type, _, _] in resources
		named := {name: values |
			some [kind, name, values] in resources
			kind == type
		}
	},
}
