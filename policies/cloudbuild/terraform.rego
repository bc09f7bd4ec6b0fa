# What changes infrastructure: exactly what was planned, once the policies have seen it.
package main

import data.build
import data.lib

deny contains lib.message(
	"OVN2031",
	command.address,
	"terraform applies a plan that nobody has seen",
	"give terraform apply the file that terraform plan -out wrote",
) if {
	some command in build.commands
	is_terraform(command, "apply")
	not has_plan(command)
}

deny contains lib.message(
	"OVN2032",
	command.address,
	"no policies stand between the plan and its application",
	"run conftest test on the plan before terraform apply",
) if {
	some index, command in build.commands
	is_terraform(command, "apply")
	not is_judged(index)
}

deny contains lib.message(
	"OVN2033",
	command.address,
	"terraform destroys what it is pointed at",
	"plan -destroy, and apply that plan",
) if {
	some command in build.commands
	is_terraform(command, "destroy")
}

is_terraform(command, verb) if {
	build.program(command) in {"terraform", "tofu"}
	plain := [word | some word in array.slice(command.words, 1, count(command.words)); not startswith(word, "-")]
	plain[0] == verb
}

# A file after the verb, which is no option of its own.
has_plan(command) if {
	plain := [word |
		some word in array.slice(command.words, 1, count(command.words))
		not startswith(word, "-")
		not regex.match(`^\$\{?[a-z_]*(lock|flag|option|arg)[a-z_]*\}?$`, word)
	]
	count(plain) > 1
}

# After the last plan before it, and before it.
is_judged(index) if {
	plans := [place | some place, command in build.commands; place < index; is_terraform(command, "plan")]
	some place, command in build.commands
	place < index
	place > max(array.concat([-1], plans))
	build.program(command) in {"conftest", "opa"}
	some word in array.slice(command.words, 1, 3)
	word in {"test", "eval", "exec"}
}
