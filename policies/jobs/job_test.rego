# Requests that pass, for the tests of all subjects, and tests of how one is read.
package job_test

import data.job
import data.testing

digest := "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

repository := "us-central1-docker.pkg.dev/acme-vision/prod-images"

pinned := concat("", [repository, "/trainer-gpu@", digest])

reducer := "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver"

parent := "projects/acme-vision/locations/us-central1"

# A custom job; its fields and those of its jobSpec can be replaced.
custom(changes, spec_changes) := {"parent": parent, "customJob": object.union(
	{
		"displayName": "weekly",
		"labels": {"owner": "vision"},
		"jobSpec": spec(spec_changes),
	},
	changes,
)}

tuning(changes, spec_changes) := {"parent": parent, "hyperparameterTuningJob": object.union(
	{
		"displayName": "tuning",
		"labels": {"owner": "vision"},
		"trialJobSpec": spec(spec_changes),
	},
	changes,
)}

spec(changes) := object.union(
	{
		"workerPoolSpecs": [{"containerSpec": {"imageUri": pinned}}],
		"serviceAccount": "prod-training@acme-vision.iam.gserviceaccount.com",
		"scheduling": {"timeout": "36000s"},
	},
	changes,
)

running(image) := custom({}, {"workerPoolSpecs": [{"containerSpec": {"imageUri": image}}]})

packaged(image) := custom({}, {"workerPoolSpecs": [{"pythonPackageSpec": {"executorImageUri": image}}]})

pipeline(changes) := object.union(
	{
		"displayName": "weekly",
		"labels": {"owner": "vision"},
		"serviceAccount": "prod-pipeline@acme-vision.iam.gserviceaccount.com",
		"pipelineSpec": {"deploymentSpec": {"executors": {"exec-train": {"container": {"image": pinned}}}}},
	},
	changes,
)

step(image) := pipeline({"pipelineSpec": {"deploymentSpec": {"executors": {"exec-train": {"container": {"image": image}}}}}})

requested(pipeline_job) := {"parent": parent, "pipelineJobId": "weekly-1", "pipelineJob": pipeline_job}

test_a_custom_job_in_order_passes if count(testing.denied) == 0 with input as custom({}, {})

test_a_study_in_order_passes if count(testing.denied) == 0 with input as tuning({}, {})

test_a_pipeline_in_order_passes if count(testing.denied) == 0 with input as pipeline({})

test_a_requested_pipeline_in_order_passes if count(testing.denied) == 0 with input as requested(pipeline({}))

test_a_name_is_host_and_path if {
	job.name(concat("", ["localhost:5000/a/b:v1@", digest])) == "localhost:5000/a/b"
	job.name("localhost:5000/a/b") == "localhost:5000/a/b"
	job.name("a-docker.pkg.dev/p/r/n:v1") == "a-docker.pkg.dev/p/r/n"
}

test_a_tag_is_what_stands_behind_the_last_colon if {
	job.tag("localhost:5000/a/b:v1") == "v1"
	job.tag("localhost:5000/a/b") == ""
	job.tag(concat("", ["localhost:5000/a/b:v1@", digest])) == ""
}

test_an_address_names_the_field if {
	job.address(["customJob", "workerPoolSpecs", 0, "my key"]) == "customJob.workerPoolSpecs[0].my_key"
	job.address(["", "labels"]) == "labels"
	job.address([]) == "request"
}

test_a_project_known_by_its_number_is_unknown if {
	not job.project with input as {"parent": "projects/481516234207/locations/us-central1"}
}
