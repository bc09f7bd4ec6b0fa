# Who runs a job, who is asked about it, and when it ends.
package main

import data.job
import data.lib

# A wrong file would pass every other rule.
deny contains lib.message(
	"OVN1001",
	"request",
	"this is no request for a job or a pipeline run",
	"give what overnight job render prints, or a PipelineJob",
) if {
	count(job.runs) == 0
}

deny contains lib.message(
	"OVN1021",
	run.account.address,
	"no service account is named, so the code runs as one that Google chooses",
	"name the environment's training or pipeline account",
) if {
	some run in job.runs
	run.account.value == ""
}

deny contains lib.message(
	"OVN1022",
	run.account.address,
	sprintf("%s is Compute Engine's default account, which may do far more", [run.account.value]),
	"name the environment's training or pipeline account",
) if {
	some run in job.runs
	regex.match(`^[0-9]+-compute@developer\.gserviceaccount\.com$`, run.account.value)
}

deny contains lib.message(
	"OVN1023",
	job.address([run.address, "labels"]),
	"nobody can be asked about it: the label owner is missing",
	"add owner to its labels",
) if {
	some run in job.runs
	job.text_at(run.labels, "owner") == ""
}

# Seven days unless it is said (vertex-facts 1.2); a pipeline's run has no such field.
deny contains lib.message(
	"OVN1024",
	concat(".", [kind, job.specs[kind], "scheduling.timeout"]),
	"without a timeout a job that hangs is paid for seven days",
	"add scheduling.timeout, such as 36000s",
) if {
	some kind, content in job.jobs
	scheduling := job.object_at(job.object_at(content, job.specs[kind]), "scheduling")
	not regex.match(`^[0-9.]*[1-9][0-9.]*s$`, job.text_at(scheduling, "timeout"))
}
