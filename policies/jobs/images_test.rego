package images_test

import data.job_test
import data.testing

said(document) := ids if {
	ids := data.testing.denied with input as document
}

said_where(document, registries) := ids if {
	ids := data.testing.denied with input as document with data.allowed_registries as registries
}

at(name, tail) := concat("", [data.job_test.repository, "/", name, tail])

by_digest(name) := concat("", [name, "@", data.job_test.digest])

test_an_image_by_tag_is_denied if {
	"OVN1011" in said(job_test.running(at("trainer-gpu", ":v1")))
}

test_an_image_by_nothing_is_denied if {
	"OVN1011" in said(job_test.running(at("trainer-gpu", "")))
}

test_a_digest_cut_short_is_denied if {
	"OVN1011" in said(job_test.running(at("trainer-gpu", "@sha256:0123")))
}

test_an_image_of_trials_by_tag_is_denied if {
	"OVN1011" in said(job_test.tuning({}, {"workerPoolSpecs": [{}, {"containerSpec": {"imageUri": at("trainer-gpu", ":v1")}}]}))
}

test_an_image_of_a_step_by_tag_is_denied if {
	"OVN1011" in said(job_test.step(at("steps", ":v1")))
}

test_an_image_of_a_job_that_a_pipeline_starts_is_denied if {
	"OVN1011" in said(job_test.pipeline({"runtimeConfig": {"parameterValues": {"pools": [{"container_spec": {"image_uri": at("trainer-gpu", ":v1")}}]}}}))
}

test_a_package_in_an_own_image_by_tag_is_denied if {
	"OVN1011" in said(job_test.packaged(at("trainer-gpu", ":v1")))
}

test_a_tag_beside_a_digest_passes if {
	not "OVN1011" in said(job_test.running(by_digest(at("trainer-gpu", ":v1"))))
}

test_a_parameter_called_image_is_none if {
	not "OVN1011" in said(job_test.pipeline({"runtimeConfig": {"parameterValues": {"image": "cats/1.jpg"}}}))
}

test_an_image_that_the_run_fills_in_passes if {
	not "OVN1011" in said(job_test.step("{{$.inputs.parameters['image']}}"))
}

test_a_prebuilt_image_by_its_one_tag_passes if {
	count(said(job_test.packaged("us-docker.pkg.dev/vertex-ai/training/tf-gpu.2-17.py310:latest"))) == 0
}

test_container_registry_is_denied if {
	said(job_test.running("eu.gcr.io/acme-vision/trainer:latest")) == {"OVN1012"}
}

test_container_registry_in_an_argument_is_denied if {
	"OVN1012" in said(job_test.custom({}, {"workerPoolSpecs": [{"containerSpec": {
		"imageUri": job_test.pinned,
		"args": ["--serve-with=gcr.io/acme-vision/serve"],
	}}]}))
}

test_artifact_registry_is_not_container_registry if {
	not "OVN1012" in said(job_test.running(by_digest("us-docker.pkg.dev/acme-vision/gcr.io/trainer")))
}

test_the_tag_latest_is_denied_once if {
	said(job_test.running(at("trainer-gpu", ":latest"))) == {"OVN1013"}
}

test_the_tag_latest_of_a_step_is_denied if {
	"OVN1013" in said(job_test.step(at("steps", ":latest")))
}

test_latest_beside_a_digest_passes if {
	not "OVN1013" in said(job_test.running(by_digest(at("trainer-gpu", ":latest"))))
}

test_an_image_of_another_project_is_denied if {
	said(job_test.running(by_digest("us-central1-docker.pkg.dev/acme-dev/prod-images/trainer-gpu"))) == {"OVN1014"}
}

test_an_image_of_a_project_with_the_same_beginning_is_denied if {
	"OVN1014" in said(job_test.running(by_digest("us-central1-docker.pkg.dev/acme-vision-2/images/trainer-gpu")))
}

test_an_image_of_another_registry_is_denied if {
	"OVN1014" in said(job_test.running(by_digest("docker.io/acme-vision/trainer-gpu")))
}

test_an_image_without_registry_is_denied if {
	"OVN1014" in said(job_test.running(by_digest("acme-vision/trainer-gpu")))
}

test_an_image_of_an_allowed_registry_passes if {
	not "OVN1014" in said_where(job_test.running(by_digest("us-docker.pkg.dev/shared/images/trainer-gpu")), ["us-docker.pkg.dev/shared"])
}

test_an_allowed_registry_ends_at_a_slash if {
	"OVN1014" in said_where(job_test.running(by_digest("us-docker.pkg.dev/shared-2/images/trainer-gpu")), ["us-docker.pkg.dev/shared"])
}

test_an_image_of_the_own_project_elsewhere_passes if {
	not "OVN1014" in said(job_test.running(by_digest("europe-docker.pkg.dev/acme-vision/others/trainer-gpu")))
}

test_an_image_of_a_domains_project_passes if {
	document := object.union(
		job_test.running(by_digest("us-docker.pkg.dev/acme.example/vision/images/trainer-gpu")),
		{"parent": "projects/acme.example:vision/locations/us-central1"},
	)
	not "OVN1014" in said(document)
}

test_googles_own_image_passes if {
	not "OVN1014" in said(job_test.running(by_digest("us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310")))
}

test_where_the_project_is_not_named_any_registry_passes if {
	document := object.union(job_test.running(by_digest("docker.io/x/y")), {"parent": "projects/481516234207/locations/us-central1"})
	not "OVN1014" in said(document)
}

test_reduction_server_by_tag_is_denied_once if {
	said(job_test.running(concat("", [job_test.reducer, ":latest"]))) == {"OVN1015"}
}

test_reduction_server_by_nothing_is_denied if {
	"OVN1015" in said(job_test.running(job_test.reducer))
}

test_reduction_server_by_digest_passes if {
	not "OVN1015" in said(job_test.running(by_digest(job_test.reducer)))
}

template := "https://us-central1-kfp.pkg.dev/acme-vision/prod-pipelines/weekly/"

test_a_template_by_tag_is_denied if {
	"OVN1016" in said(job_test.requested(job_test.pipeline({"templateUri": concat("", [template, "v3"])})))
}

test_a_template_by_digest_passes if {
	not "OVN1016" in said(job_test.pipeline({"templateUri": concat("", [template, job_test.digest])}))
}
