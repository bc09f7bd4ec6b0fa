# Least privilege: what may be granted on the whole project, and to whom.
package main

import data.lib

primitive_roles := {"roles/owner", "roles/editor", "roles/viewer"}

acting_roles := {
	"roles/iam.serviceAccountUser",
	"roles/iam.serviceAccountTokenCreator",
	"roles/iam.serviceAccountOpenIdTokenCreator",
	"roles/iam.workloadIdentityUser",
}

# Whoever holds one can give itself any other.
granting_roles := {
	"roles/iam.securityAdmin",
	"roles/resourcemanager.projectIamAdmin",
	"roles/resourcemanager.folderIamAdmin",
	"roles/resourcemanager.organizationAdmin",
}

# Accounts that run code or builds; what they read and write is granted on each bucket, dataset, repository, secret.
working_roles := {"build", "check", "pipeline", "training", "scheduler"}

data_role := `^roles/(artifactregistry|bigquery\.(data|filteredData)|cloudkms|pubsub|secretmanager|storage)`

# Plan and synth.
deny contains lib.message(
	"OVN201",
	grant.address,
	sprintf("%s is a primitive role: it reaches into every service", [grant.role]),
	"grant the narrowest predefined role, on the narrowest resource",
) if {
	some grant in lib.grants
	grant.role in primitive_roles
}

# Plan and synth.
deny contains lib.message(
	"OVN202",
	grant.address,
	sprintf("%s on the whole project for %s, which is not the deploy account", [grant.role, lib.named(grant.member)]),
	"grant it on single resources, or a role without administration",
) if {
	some grant in lib.grants
	grant.wide
	is_admin(grant.role)
	not lib.is_account_of(grant.accounts, {"deploy"})
}

# Plan and synth.
deny contains lib.message(
	"OVN203",
	grant.address,
	sprintf("%s on the whole project lets %s act as every account", [grant.role, lib.named(grant.member)]),
	"grant it on the one account, with google_service_account_iam_member",
) if {
	some grant in lib.grants
	grant.wide
	grant.role in acting_roles
}

# Plan and synth.
deny contains lib.message(
	"OVN204",
	grant.address,
	sprintf("%s on the whole project for %s, which runs code", [grant.role, lib.named(grant.member)]),
	"grant it on the bucket, dataset, repository, topic, key or secret that the code uses",
) if {
	some grant in lib.grants
	grant.wide
	regex.match(data_role, grant.role)
	not is_admin(grant.role)
	lib.is_account_of(grant.accounts, working_roles)
}

# Plan and synth.
deny contains lib.message(
	"OVN205",
	grant.address,
	sprintf("%s without a condition can grant anything to anyone", [grant.role]),
	"add a condition on iam.googleapis.com/modifiedGrantsByRole that lists the roles it may grant",
) if {
	some grant in lib.grants
	grant.role in granting_roles
	not grant.conditional
}

is_admin(role) if regex.match(`^roles/.*[aA]dmin$`, role)
