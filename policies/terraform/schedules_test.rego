package schedules_test

import data.testing

schedule(values) := ["google_colab_schedule", "s", object.union(
	{
		"cron": "CRON_TZ=Europe/Paris 0 20 * * 5",
		"max_concurrent_run_count": "1",
		"max_concurrent_active_run_count": "1",
		"allow_queueing": false,
		"create_pipeline_job_request": [{"pipeline_job": [{}]}],
	},
	values,
)]

job(values) := ["google_cloud_scheduler_job", "j", object.union({"schedule": "0 20 * * 5", "time_zone": "Europe/Paris"}, values)]

request(content) := {"http_target": [{"body": base64.encode(json.marshal(content))}]}

test_a_cron_without_a_zone_is_denied if "OVN701" in testing.denied with input as testing.plan([schedule({"cron": "0 20 * * 5"})])

test_a_job_without_a_zone_is_denied if {
	"OVN701" in testing.denied with input as testing.synth([["google_cloud_scheduler_job", "j", {"schedule": "0 20 * * 5"}]])
}

test_a_zone_that_only_the_default_sets_is_denied if {
	"OVN701" in testing.denied with input as testing.configured(
		testing.plan([job({"time_zone": "Etc/UTC"})]),
		[["google_cloud_scheduler_job.j", [], {"schedule": {"constant_value": "0 20 * * 5"}}]],
	)
}

test_a_written_zone_passes if {
	not "OVN701" in testing.denied with input as testing.plan([schedule({"cron": "TZ=UTC 0 20 * * 5"}), job({})])
}

test_two_starts_at_once_are_denied if {
	"OVN702" in testing.denied with input as testing.plan([schedule({"max_concurrent_run_count": "2"})])
}

test_two_runs_at_once_are_denied if {
	"OVN702" in testing.denied with input as testing.synth([schedule({"max_concurrent_active_run_count": "2"})])
}

test_runs_without_a_limit_are_denied if {
	"OVN702" in testing.denied with input as testing.plan([schedule({"max_concurrent_active_run_count": null})])
}

test_one_at_a_time_passes if not "OVN702" in testing.denied with input as testing.plan([schedule({})])

test_notebooks_know_no_limit_of_runs if {
	not "OVN702" in testing.denied with input as testing.plan([["google_colab_schedule", "s", {
		"cron": "CRON_TZ=Europe/Paris 0 20 * * 5",
		"max_concurrent_run_count": "1",
		"create_notebook_execution_job_request": [{}],
	}]])
}

test_queueing_is_denied if "OVN703" in testing.denied with input as testing.plan([schedule({"allow_queueing": true})])

test_skipping_passes if not "OVN703" in testing.denied with input as testing.plan([schedule({"allow_queueing": null})])

test_retries_are_denied if {
	"OVN704" in testing.denied with input as testing.plan([job({"retry_config": [{"retry_count": 3, "max_retry_duration": null}]})])
}

test_retries_for_a_time_are_denied if {
	"OVN704" in testing.denied with input as testing.synth([job({"retry_config": {"retry_count": 0, "max_retry_duration": "600s"}})])
}

test_no_retries_pass if {
	not "OVN704" in testing.denied with input as testing.plan([job({"retry_config": [{"retry_count": 0, "max_retry_duration": "0s"}]})])
}

test_the_default_of_no_retries_passes if not "OVN704" in testing.denied with input as testing.plan([job({"retry_config": []})])

test_a_fixed_run_id_is_denied if {
	"OVN705" in testing.denied with input as testing.plan([job(request({"displayName": "weekly", "pipelineJobId": "weekly"}))])
}

test_a_request_without_a_run_id_passes if {
	not "OVN705" in testing.denied with input as testing.plan([job(request({"displayName": "weekly"}))])
}

test_a_body_that_is_no_json_passes if {
	not "OVN705" in testing.denied with input as testing.plan([job({"http_target": [{"body": base64.encode("pipelineJobId")}]})])
}
