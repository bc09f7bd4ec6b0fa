package running_test

import data.job_test
import data.testing

said(document) := ids if {
	ids := data.testing.denied with input as document
}

test_another_document_is_denied if {
	said({"customJob": "weekly"}) == {"OVN1001"}
}

test_nothing_is_denied if {
	"OVN1001" in said({})
}

test_a_template_alone_is_a_pipeline if {
	not "OVN1001" in said({"templateUri": "https://us-central1-kfp.pkg.dev/p/r/weekly/v3"})
}

test_a_job_without_account_is_denied if {
	"OVN1021" in said(job_test.custom({}, {"serviceAccount": ""}))
}

test_a_study_without_account_is_denied if {
	"OVN1021" in said({"hyperparameterTuningJob": {"trialJobSpec": {}}})
}

test_a_pipeline_without_account_is_denied if {
	"OVN1021" in said(job_test.pipeline({"serviceAccount": null}))
}

test_a_job_with_an_account_passes if {
	not "OVN1021" in said(job_test.custom({}, {}))
}

default_account := "481516234207-compute@developer.gserviceaccount.com"

test_compute_engines_account_is_denied if {
	said(job_test.custom({}, {"serviceAccount": default_account})) == {"OVN1022"}
}

test_compute_engines_account_of_a_pipeline_is_denied if {
	"OVN1022" in said(job_test.requested(job_test.pipeline({"serviceAccount": default_account})))
}

test_an_account_of_that_name_in_a_project_passes if {
	not "OVN1022" in said(job_test.custom({}, {"serviceAccount": "1-compute@developer.iam.gserviceaccount.com"}))
}

test_a_job_without_owner_is_denied if {
	said(job_test.custom({"labels": null}, {})) == {"OVN1023"}
}

test_an_empty_owner_is_denied if {
	"OVN1023" in said(job_test.tuning({"labels": {"owner": ""}}, {}))
}

test_a_pipeline_without_owner_is_denied if {
	"OVN1023" in said(job_test.pipeline({"labels": null}))
}

test_a_job_with_an_owner_passes if {
	not "OVN1023" in said(job_test.custom({"labels": {"owner": "vision", "environment": "prod"}}, {}))
}

test_a_job_without_timeout_is_denied if {
	said(job_test.custom({}, {"scheduling": null})) == {"OVN1024"}
}

test_a_timeout_of_nothing_is_denied if {
	"OVN1024" in said(job_test.tuning({}, {"scheduling": {"timeout": "0s"}}))
}

test_a_timeout_passes if {
	not "OVN1024" in said(job_test.custom({}, {"scheduling": {"timeout": "0.5s"}}))
}

test_a_pipeline_has_no_timeout if {
	not "OVN1024" in said(job_test.pipeline({}))
}
