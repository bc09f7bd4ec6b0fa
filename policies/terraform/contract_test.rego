package contract_test

import data.testing

test_a_plan_without_our_output_is_denied if {
	"OVN001" in testing.denied with input as object.remove(testing.plan([]), ["planned_values"])
}

test_a_stack_without_our_output_is_denied if {
	"OVN001" in testing.denied with input as object.remove(testing.synth([]), ["output"])
}

test_an_output_of_others_is_not_ours if {
	"OVN001" in testing.denied with input as testing.synth_for({"environment": "prod", "required_labels": null}, [])
}

test_a_plan_of_a_stack_is_judged if not "OVN001" in testing.denied with input as testing.plan([])

test_a_synthesized_stack_is_judged if not "OVN001" in testing.denied with input as testing.synth([])

test_a_plan_that_destroys_everything_is_held_against_the_last_output if {
	not "OVN001" in testing.denied with input as {
		"planned_values": {"root_module": {}},
		"output_changes": {"policy": {"actions": ["delete"], "before": data.testing.demands}},
	}
}

test_a_targeted_plan_is_denied if {
	"OVN002" in testing.denied with input as object.union(testing.plan([]), {"complete": false})
}

test_a_failed_plan_is_denied if {
	"OVN002" in testing.denied with input as object.union(testing.plan([]), {"errored": true})
}

test_a_complete_plan_passes if not "OVN002" in testing.denied with input as testing.plan([])

test_an_older_plan_that_does_not_say_passes if {
	not "OVN002" in testing.denied with input as object.remove(testing.plan([]), ["complete", "errored"])
}

test_resources_in_modules_are_judged if {
	"OVN207" in testing.denied with input as {"planned_values": {"root_module": {"child_modules": [{"child_modules": [{"resources": [{
		"address": "module.a.module.b.google_service_account_key.k[0]",
		"mode": "managed",
		"type": "google_service_account_key",
		"name": "k",
		"values": {"service_account_id": "x"},
	}]}]}]}}}
}

test_data_sources_are_not_judged if {
	not "OVN207" in testing.denied with input as {"planned_values": {"root_module": {"resources": [{
		"address": "data.google_service_account_key.k",
		"mode": "data",
		"type": "google_service_account_key",
		"name": "k",
		"values": {"name": "x"},
	}]}}}
}
