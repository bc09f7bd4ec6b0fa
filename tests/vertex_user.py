"""What a person's program does that uses Google's SDK: submits, looks, waits. Prints JSON objects, one a line.

    python vertex_user.py ENDPOINT TRANSPORT WHAT REQUEST

A process of its own: the SDK keeps global state, and gRPC reads GRPC_DEFAULT_SSL_ROOTS_FILE_PATH once.
"""

import json
import sys
import time

# The SDK tells its progress on what is standard output when it is imported.
ANSWERS, sys.stdout = sys.stdout, sys.stderr

from google.auth.credentials import AnonymousCredentials  # noqa: E402
from google.cloud import aiplatform  # noqa: E402
from google.cloud.aiplatform import hyperparameter_tuning, persistent_resource  # noqa: E402
from google.cloud.aiplatform import jobs as sdk_jobs  # noqa: E402

ENDED = ("SUCCEEDED", "FAILED", "CANCELLED")
LOOK_SECONDS = 0.01


def say(**content):
    print(json.dumps(content), file=ANSWERS, flush=True)


def state_of(job):
    return job.state.name.removeprefix("JOB_STATE_")


def submitted(request):
    """Submit {display_name, pools, base, submit: further arguments}; the first state is the one of the answer."""
    job = aiplatform.CustomJob(
        display_name=request["display_name"],
        worker_pool_specs=request["pools"],
        base_output_dir=request.get("base"),
        labels=request.get("labels"),
    )
    options = dict(request.get("submit", {}))
    if "scheduling_strategy" in options:
        strategies = aiplatform.gapic.Scheduling.Strategy
        options["scheduling_strategy"] = strategies[options["scheduling_strategy"]]
    job.submit(**options)
    states = [job._gca_resource.state.name.removeprefix("JOB_STATE_")]
    say(name=job.resource_name)
    return job, states


def look(job, states):
    """Note the state where it is another one than before; whether the job has ended."""
    state = state_of(job)
    if state != states[-1]:
        states.append(state)
    return state in ENDED


def say_end(job, states):
    message = job.gca_resource
    say(
        name=message.name,
        states=states,
        code=message.error.code,
        message=message.error.message,
        started=message.start_time.timestamp(),
        ended=message.end_time.timestamp(),
    )


def jobs(requests):
    """Run each job to its end, one after the other; with `cancel`, cancel it as soon as it runs."""
    for request in requests:
        job, states = submitted(request)
        while not look(job, states):
            if request.get("cancel") and states[-1] == "RUNNING":
                job.cancel()
                request["cancel"] = False
            time.sleep(LOOK_SECONDS)
        say_end(job, states)


def pool(request):
    """Make a persistent resource, run all jobs on it at once, delete it."""
    resource = persistent_resource.PersistentResource.create(**request["resource"])
    say(name=resource.resource_name, state=resource.state.name)
    running = [submitted(job) for job in request["jobs"]]
    over = False
    while not over:
        time.sleep(LOOK_SECONDS)
        over = all([look(job, states) for job, states in running])  # noqa: C419, every job is looked at
    for job, states in running:
        say_end(job, states)
    resource.delete()
    say(left=[found.name for found in persistent_resource.PersistentResource.list()])


def study(request):
    """Run a tuning job over one number; says the most trials that ran at any look."""
    job = aiplatform.HyperparameterTuningJob(
        display_name="sweep",
        custom_job=aiplatform.CustomJob(
            display_name="trial", worker_pool_specs=request["pools"], base_output_dir="gs://staging/sweep"
        ),
        metric_spec={"loss": "minimize"},
        parameter_spec={"rate": hyperparameter_tuning.DoubleParameterSpec(min=1e-3, max=1.0, scale="log")},
        max_trial_count=request["trials"],
        parallel_trial_count=request["parallel"],
    )
    job.run(sync=False)
    job.wait_for_resource_creation()
    most = 0
    while state_of(job) not in ENDED:
        running = aiplatform.CustomJob.list(filter='state="JOB_STATE_RUNNING"')
        most = max(most, len(running))
        time.sleep(LOOK_SECONDS)
    trials = [
        {
            "id": trial.id,
            "state": trial.state.name,
            "loss": trial.final_measurement.metrics[0].value,
            "rate": trial.parameters[0].value,
            "start": trial.start_time.timestamp(),
            "end": trial.end_time.timestamp(),
        }
        for trial in job.trials
    ]
    say(state=state_of(job), most=most, trials=trials)


if __name__ == "__main__":
    ENDPOINT, TRANSPORT, WHAT, REQUEST = sys.argv[1:]
    sdk_jobs._JOB_WAIT_TIME = 0.1
    aiplatform.init(
        project="acme-vision-prod",
        location="us-central1",
        staging_bucket="gs://staging",
        credentials=AnonymousCredentials(),
        api_endpoint=ENDPOINT,
        api_transport=TRANSPORT,
    )
    {"jobs": jobs, "pool": pool, "study": study}[WHAT](json.loads(REQUEST))
