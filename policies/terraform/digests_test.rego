package digests_test

import data.testing

some_digest := "sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"

repository := "us-central1-docker.pkg.dev/acme-vision/prod-images"

schedule(uri) := ["google_colab_schedule", "s", {"create_pipeline_job_request": [{"pipeline_job": [{"template_uri": uri}]}]}]

job(request) := ["google_cloud_scheduler_job", "j", {"http_target": [{"body": base64.encode(json.marshal(request))}]}]

trigger(substitutions) := ["google_cloudbuild_trigger", "t", {"substitutions": substitutions}]

service(image) := ["google_cloud_run_v2_job", "j", {"template": [{"containers": [{"image": image}]}]}]

test_a_template_by_tag_is_denied if {
	"OVN311" in testing.denied with input as testing.plan([schedule("https://us-central1-kfp.pkg.dev/p/r/weekly/v3")])
}

test_a_template_by_tag_in_a_request_is_denied if {
	"OVN311" in testing.denied with input as testing.synth([job({"templateUri": "https://us-central1-kfp.pkg.dev/p/r/weekly/latest"})])
}

test_a_template_by_digest_passes if {
	not "OVN311" in testing.denied with input as testing.plan([
		schedule(concat("/", ["https://us-central1-kfp.pkg.dev/p/r/weekly", some_digest])),
		job({"templateUri": concat("/", ["https://us-central1-kfp.pkg.dev/p/r/weekly", some_digest])}),
	])
}

test_an_image_by_tag_is_denied if {
	"OVN312" in testing.denied with input as testing.plan([service(concat("", [repository, "/trainer:v3"]))])
}

test_an_image_by_nothing_is_denied if {
	"OVN312" in testing.denied with input as testing.synth([service(concat("", [repository, "/trainer"]))])
}

test_an_image_by_tag_in_a_substitution_is_denied if {
	"OVN312" in testing.denied with input as testing.plan([trigger({"_BUILDER": concat("", [repository, "/builder:latest"])})])
}

test_an_image_from_elsewhere_by_tag_is_denied if {
	"OVN312" in testing.denied with input as testing.plan([service("python:3.11")])
}

test_a_step_by_tag_is_denied if {
	"OVN312" in testing.denied with input as testing.plan([["google_cloudbuild_trigger", "t", {"build": [{"step": [{"name": "docker:29"}]}]}]])
}

test_an_image_by_digest_passes if {
	not "OVN312" in testing.denied with input as testing.plan([service(concat("", [repository, "/trainer@", some_digest]))])
}

test_a_tag_beside_a_digest_passes if {
	not "OVN312" in testing.denied with input as testing.plan([service(concat("", [repository, "/trainer:v3@", some_digest]))])
}

test_a_repository_is_no_image if not "OVN312" in testing.denied with input as testing.plan([trigger({"_REPOSITORY": repository})])

test_the_name_a_build_pushes_to_passes if {
	not "OVN312" in testing.denied with input as testing.plan([trigger({"_IMAGE": concat("", [repository, "/trainer"])})])
}

test_a_reference_that_the_build_completes_passes if {
	not "OVN312" in testing.denied with input as testing.plan([trigger({"_IMAGE": concat("", [repository, "/trainer:$COMMIT_SHA"])})])
}

test_a_build_cache_by_tag_passes if {
	not "OVN312" in testing.denied with input as testing.plan([trigger({"_CACHE": "us-central1-docker.pkg.dev/p/prod-cache/trainer:buildcache"})])
}

test_container_registry_is_denied if {
	"OVN313" in testing.denied with input as testing.plan([service(concat("@", ["eu.gcr.io/p/trainer", some_digest]))])
}

test_container_registry_in_any_string_is_denied if {
	"OVN313" in testing.denied with input as testing.synth([trigger({"_BUILDER": "gcr.io/cloud-builders/docker"})])
}

test_other_hosts_pass if {
	not "OVN313" in testing.denied with input as testing.plan([trigger({"_HOST": "notgcr.io.example/x"})])
}
