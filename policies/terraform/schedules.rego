# Pipelines start when someone meant them to, once at a time.
package main

import data.lib

# Plan and synth. A default would be filled into the plan's values: the plan's configuration says what was written.
deny contains lib.message(
	"OVN701",
	resource.address,
	"it starts by a time zone that is not written down",
	zone_remedy[resource.type],
) if {
	some resource in lib.resources
	zone_remedy[resource.type]
	not has_zone(resource)
}

zone_remedy := {
	"google_cloud_scheduler_job": "set time_zone, such as Europe/Paris",
	"google_colab_schedule": "begin cron with CRON_TZ= or TZ=, such as CRON_TZ=Europe/Paris 0 22 * * 5",
}

# Plan and synth. max_concurrent_run_count limits runs that are being started, max_concurrent_active_run_count those
# that run.
deny contains lib.message(
	"OVN702",
	resource.address,
	sprintf("%s is not 1, so two runs can overlap", [attribute]),
	sprintf("set %s = 1", [attribute]),
) if {
	some resource in lib.resources
	resource.type == "google_colab_schedule"
	some attribute in ["max_concurrent_run_count", "max_concurrent_active_run_count"]
	not is_one(resource, attribute)
}

# Plan and synth.
deny contains lib.message(
	"OVN703",
	resource.address,
	"runs that find the last one still running wait and start late",
	"set allow_queueing = false: next week's run is soon enough",
) if {
	some resource in lib.resources
	resource.type == "google_colab_schedule"
	resource.values.allow_queueing == true
}

# Plan and synth.
deny contains lib.message(
	"OVN704",
	resource.address,
	sprintf("%s lets a start be repeated, and each is a run of its own", [attribute]),
	"set retry_config.retry_count = 0 and no max_retry_duration",
) if {
	some resource in lib.resources
	resource.type == "google_cloud_scheduler_job"
	some retry in lib.blocks(resource.values, "retry_config")
	some attribute in repeats(retry)
}

# Plan and synth.
deny contains lib.message(
	"OVN705",
	body.address,
	"the request holds a pipelineJobId, so every start after the first one collides",
	"leave it out: Vertex AI makes one up for each run",
) if {
	some body in bodies
	body.content.pipelineJobId
}

has_zone(resource) if {
	resource.type == "google_colab_schedule"
	regex.match(`^(CRON_TZ|TZ)=[A-Za-z]\S*\s`, lib.string_at(resource.values, "cron"))
}

has_zone(resource) if {
	resource.type == "google_cloud_scheduler_job"
	lib.given(resource, "time_zone")
	not left_out(resource, "time_zone")
}

left_out(resource, attribute) if {
	is_object(lib.configured[resource.base].expressions)
	not lib.configured[resource.base].expressions[attribute]
}

# Terraform writes these counts as strings.
is_one(resource, attribute) if resource.values[attribute] in {1, "1"}

is_one(resource, _) if {
	count(lib.blocks(resource.values, "create_pipeline_job_request")) == 0
	count(lib.blocks(resource.values, "create_notebook_execution_job_request")) > 0
}

repeats(retry) := {attribute |
	some attribute in ["retry_count", "max_retry_duration"]
	not object.get(retry, attribute, null) in {null, 0, "0", "0s", ""}
}

# Requests that Cloud Scheduler sends: base64 of JSON.
bodies contains {"address": resource.address, "content": content} if {
	some resource in lib.resources
	resource.type == "google_cloud_scheduler_job"
	some target in lib.blocks(resource.values, "http_target")
	is_string(target.body)
	base64.is_valid(target.body)
	text := base64.decode(target.body)
	json.is_valid(text)
	content := json.unmarshal(text)
	is_object(content)
}
