package options_test

import data.build_test as house

test_other_logs_are_denied if "OVN2011" in house.denied_file(house.file({"options": {"logging": "LEGACY"}}))

test_no_choice_of_logs_is_denied if {
	"OVN2011" in data.testing.denied with input as {"steps": [{"name": "x"}]}
}

test_cloud_logging_passes if not "OVN2011" in house.denied_file(house.file({}))

test_a_file_that_names_its_account_is_denied if {
	"OVN2012" in house.denied_file(house.file({"serviceAccount": "projects/p/serviceAccounts/x@y.z"}))
}

test_a_file_without_an_account_passes if not "OVN2012" in house.denied_file(house.file({}))

test_another_pool_is_denied if {
	"OVN2013" in house.denied_file(house.file({"options": {"pool": {"name": "projects/p/locations/l/workerPools/w"}}}))
}

test_no_pool_is_denied if {
	"OVN2013" in data.testing.denied with input as {"steps": [{"name": "x"}], "options": {"logging": "CLOUD_LOGGING_ONLY"}}
}

test_the_environments_pool_passes if {
	not "OVN2013" in house.denied_file(house.file({"options": {"pool": {"name": "${_POOL}"}}}))
}

test_what_is_fetched_and_run_is_denied if {
	"OVN2014" in house.denied_file(house.step({"script": "curl -sSL https://x.example/install \\\n  | sudo bash -s -- -y"}))
}

test_what_is_run_from_a_substitution_is_denied if {
	"OVN2014" in house.denied_file(house.step({"script": "bash <(wget -qO- https://x.example)"}))
}

test_what_is_fetched_and_kept_passes if {
	not "OVN2014" in house.denied_file(house.step({"script": "curl -o x https://x.example | cat\nbash x"}))
}

test_a_literal_secret_is_denied if "OVN2015" in house.denied_file(house.step({"env": ["GITHUB_TOKEN=abc123"]}))

test_a_secret_for_all_steps_is_denied if "OVN2015" in house.denied_file(house.file({"options": {"env": ["API_KEY=abc"]}}))

test_a_secret_among_the_substitutions_is_denied if {
	"OVN2015" in house.denied_file(house.file({"substitutions": {"_PASSWORD": "hunter2"}}))
}

test_a_secret_that_is_filled_in_passes if {
	not "OVN2015" in house.denied_file(house.step({"env": ["GITHUB_TOKEN=$_TOKEN", "KEYRING=x", "CREDENTIALS=/run/key.json"]}))
}

test_power_over_the_machine_is_denied if {
	every words in [
		["docker", "run", "--privileged", "x"],
		["docker", "run", "--network", "host", "x"],
		["docker", "build", "--network=host", "."],
		["docker", "run", "--volume", "/var/run/docker.sock:/var/run/docker.sock", "x"],
		["podman", "run", "--cap-add", "SYS_ADMIN", "x"],
	] {
		"OVN2016" in house.denied_commands([house.runs(words)])
	}
}

test_a_confined_container_passes if {
	not "OVN2016" in house.denied_commands([house.runs(["docker", "run", "--network", "none", "--cap-drop", "all", "host"])])
}

test_an_unlocked_install_is_denied if {
	"OVN2017" in house.denied_commands([house.runs([".venv/bin/python", "-m", "pip", "install", "numpy"])])
}

test_an_unlocked_download_is_denied if "OVN2017" in house.denied_commands([house.runs(["pip3", "download", "numpy"])])

test_a_locked_install_passes if {
	not "OVN2017" in house.denied_commands([
		house.runs(["pip", "install", "--require-hashes", "-r", "x.txt"]),
		house.runs(["python3", "-m", "pip", "install", "--constraint", "lock.txt", "numpy"]),
		house.runs(["python3", "-m", "venv", "install"]),
	])
}
