package terraform_test

import data.build_test as house

plan := house.runs(["terraform", "-chdir=x", "plan", "-out=p"])

judged := house.runs(["conftest", "test", "p.json"])

apply := house.runs(["terraform", "-chdir=x", "apply", "-input=false", "p"])

test_applying_without_a_plan_is_denied if {
	"OVN2031" in house.denied_commands([plan, judged, house.runs(["terraform", "apply", "-auto-approve", "$lock"])])
}

test_applying_a_plan_passes if not "OVN2031" in house.denied_commands([plan, judged, apply])

test_applying_unjudged_is_denied if "OVN2032" in house.denied_commands([plan, apply])

test_applying_what_was_judged_before_it_was_planned_is_denied if {
	"OVN2032" in house.denied_commands([judged, plan, apply])
}

test_a_second_plan_is_judged_anew if {
	"OVN2032" in house.denied_commands([plan, judged, apply, plan, apply])
}

test_the_policies_own_tests_judge_nothing if {
	"OVN2032" in house.denied_commands([plan, house.runs(["conftest", "verify"]), apply])
}

test_applying_what_was_judged_passes if not "OVN2032" in house.denied_commands([plan, judged, apply, plan, judged, apply])

test_destroying_is_denied if "OVN2033" in house.denied_commands([house.runs(["terraform", "destroy", "-auto-approve"])])

test_planning_to_destroy_passes if not "OVN2033" in house.denied_commands([house.runs(["terraform", "plan", "-destroy"])])
