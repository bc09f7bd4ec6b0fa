# Who depends on whom, and which account a member is.
package lib

resource_name := `(?:data\.)?google_[a-z0-9_]+\.[A-Za-z0-9_-]+`

# Direct dependencies in the root module: depends_on and references in expressions.
edges[address] := targets if {
	some address, resource in configured
	targets := named_in(listed(resource, "depends_on")) | named_in([text |
		walk(listed_object(resource, "expressions"), [path, text])
		is_string(text)
		path[count(path) - 2] == "references"
	])
}

edges[address] := targets if {
	is_synth
	some address, resource in resources
	targets := named_in(listed(resource.values, "depends_on")) | named_in([text |
		walk(resource.values, [_, text])
		is_string(text)
		contains(text, "${")
	])
}

listed(resource, name) := resource[name] if {
	is_array(resource[name])
} else := []

listed_object(resource, name) := resource[name] if {
	is_object(resource[name])
} else := {}

named_in(texts) := {found |
	some text in texts
	some found in regex.find_n(resource_name, text, -1)
}

# Everything that must exist before this resource, itself included.
needs(resource) := graph.reachable(edges, {resource.base})

# The ids (before the @) of the service accounts that a text in a resource names: written out, by a reference in it,
# or, when the plan does not know it yet, by any reference of the resource.
account_ids(resource, text) := ids if {
	written(text)
	ids := {id |
		some found in regex.find_n(`[a-z][a-z0-9-]+@[a-z0-9.-]+\.iam\.gserviceaccount\.com`, text, -1)
		id := split(found, "@")[0]
	}
} else := account_ids_of(named_in([text])) if {
	is_string(text)
} else := account_ids_of(edges[resource.base]) if {
	edges[resource.base]
} else := set()

account_ids_of(addresses) := {account.values.account_id |
	some account in resources
	account.type == "google_service_account"
	account.base in addresses
	is_string(account.values.account_id)
}

# Accounts of these roles (infra/names.py): their ids are ENVIRONMENT-ROLE.
is_account_of(ids, roles) if {
	some id in ids
	some role in roles
	id == sprintf("%s-%s", [policy.environment, role])
}

is_account_of(ids, roles) if {
	not policy
	some id in ids
	some role in roles
	endswith(id, concat("", ["-", role]))
}

# Grants: one for each member of each IAM resource, with the role and whether the whole project is meant.
grants contains grant if {
	some resource in resources
	regex.match(`_iam_(member|binding)$`, resource.type)
	some member in members(resource)
	grant := {
		"address": resource.address,
		"role": string_at(resource.values, "role"),
		"member": member,
		"accounts": account_ids(resource, member),
		"wide": regex.match(`^google_(project|folder|organization)_iam_`, resource.type),
		"conditional": any_conditions(resource),
	}
}

members(resource) := resource.values.members if {
	is_array(resource.values.members)
} else := [resource.values.member] if {
	is_string(resource.values.member)
} else := [null]

default any_conditions(_) := false

any_conditions(resource) if any_of(resource, "condition")

# For messages: what a grant's member is called.
named(member) := member if {
	is_string(member)
} else := "a member that is not known yet"
