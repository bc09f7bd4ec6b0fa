package keys_test

import data.testing

test_a_key_is_denied if {
	"OVN207" in testing.denied with input as testing.plan([["google_service_account_key", "k", {"service_account_id": "x"}]])
}

test_a_storage_key_is_denied if {
	"OVN207" in testing.denied with input as testing.synth([["google_storage_hmac_key", "k", {"service_account_email": "x"}]])
}

test_an_account_passes if {
	not "OVN207" in testing.denied with input as testing.plan([["google_service_account", "k", {"account_id": "prod-training"}]])
}
