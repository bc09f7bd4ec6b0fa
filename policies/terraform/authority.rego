# Grants are added one by one; nothing takes over the list.
package main

import data.lib

# Plan and synth.
deny contains lib.message(
	"OVN206",
	resource.address,
	sprintf("%s is authoritative: it removes what others granted, service agents included", [resource.type]),
	sprintf("use %s", [regex.replace(resource.type, `_iam_(policy|binding)$`, "_iam_member")]),
) if {
	some resource in lib.resources
	is_authoritative(resource.type)
}

is_authoritative(type) if regex.match(`^google_.+_iam_policy$`, type)

is_authoritative(type) if regex.match(`^google_(project|folder|organization|billing_account)_iam_binding$`, type)
