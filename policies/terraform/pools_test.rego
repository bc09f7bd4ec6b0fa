package pools_test

import data.testing

pool(name) := ["google_vertex_ai_persistent_resource", "p", {"name": name}]

with_pool(entry) := object.union(data.testing.demands, {"persistent_resources": {"day-v1": entry}})

test_a_pool_nobody_answers_for_is_denied if "OVN801" in testing.denied with input as testing.plan([pool("other-v1")])

test_a_pool_without_an_owner_is_denied if {
	"OVN801" in testing.denied with input as testing.plan_for(with_pool({"owner": "", "expires": "2027-06-30"}), [pool("day-v1")])
}

test_a_pool_for_ever_is_denied if {
	"OVN801" in testing.denied with input as testing.synth_for(with_pool({"owner": "a@acme.example"}), [pool("day-v1")])
}

test_a_pool_with_owner_and_end_passes if not "OVN801" in testing.denied with input as testing.plan([pool("night-v1")])

test_an_expired_pool_is_denied if {
	"OVN802" in testing.denied with input as testing.plan([pool("night-v1")])
		with data.now as "2027-07-01"
}

test_an_expired_pool_is_denied_by_the_plans_own_time if {
	"OVN802" in testing.denied with input as object.union(testing.plan([pool("night-v1")]), {"timestamp": "2027-07-01T00:00:00Z"})
}

test_the_last_day_passes if {
	not "OVN802" in testing.denied with input as testing.plan([pool("night-v1")])
		with data.now as "2027-06-30"
}

test_without_a_day_nothing_has_expired if not "OVN802" in testing.denied with input as testing.synth([pool("night-v1")])
