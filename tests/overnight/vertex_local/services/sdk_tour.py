"""What a program does that uses the high-level SDK, against the server that the arguments name.

A process of its own: the SDK keeps global state, and gRPC reads GRPC_DEFAULT_SSL_ROOTS_FILE_PATH once.
Prints one JSON object.
"""

import json
import sys

from google.auth.credentials import AnonymousCredentials
from google.cloud import aiplatform
from google.cloud.aiplatform.metadata.context import Context

ENDPOINT, TRANSPORT = sys.argv[1:3]
WHERE = {
    "project": "demo",
    "location": "us-central1",
    "credentials": AnonymousCredentials(),
    "api_endpoint": ENDPOINT,
    "api_transport": TRANSPORT,
}


def models():
    common = {
        "display_name": "clf",
        "serving_container_image_uri": "us-docker.pkg.dev/p/r/serve@sha256:" + "0" * 64,
        "labels": {"snapshot": "abc"},
    }
    first = aiplatform.Model.upload(model_id="clf", artifact_uri="gs://b/1", version_aliases=["candidate"], **common)
    second = aiplatform.Model.upload(
        parent_model=first.resource_name, artifact_uri="gs://b/2", is_default_version=False, **common
    )
    registry = aiplatform.ModelRegistry("clf")
    registry.add_version_aliases(["champion"], version="2")
    registry.remove_version_aliases(["candidate"], version="1")
    registry.update_version("2", version_description="better", labels={"week": "2"})
    champion = aiplatform.Model("clf@champion")
    champion.update(description="animals")
    found = {
        "versions": [first.version_id, second.version_id],
        "aliases": {version.version_id: list(version.version_aliases) for version in registry.list_versions()},
        "champion": [champion.version_id, champion.uri, champion.version_description, champion.description],
        "listed": len(aiplatform.Model.list(filter='display_name="clf"')),
    }
    registry.delete_version("champion")
    aiplatform.Model("clf").delete()
    return {**found, "left": len(aiplatform.Model.list())}


def lineage():
    data = aiplatform.Artifact.create(schema_title="system.Dataset", uri="gs://b/data", metadata={"digest": "sha256:1"})
    model = aiplatform.Artifact.create(schema_title="system.Model", uri="gs://b/model")
    # Without credentials of its own, Execution.create fails also against Google Cloud (aiplatform 2.7.0).
    train = aiplatform.Execution.create(
        schema_title="system.ContainerExecution", display_name="train", credentials=WHERE["credentials"]
    )
    train.assign_input_artifacts([data])
    train.assign_output_artifacts([model])
    train.update(state=aiplatform.gapic.Execution.State.COMPLETE)
    week = Context.create(schema_title="system.Experiment", resource_id="week-1", display_name="week 1")
    week.add_artifacts_and_executions([data.resource_name, model.resource_name], [train.resource_name])
    week.update(metadata={"accuracy": 0.9})
    return {
        "inputs": [artifact.uri for artifact in train.get_input_artifacts()],
        "outputs": [artifact.uri for artifact in train.get_output_artifacts()],
        "state": train.state.name,
        "events": len(week.query_lineage_subgraph().events),
        "in context": len(aiplatform.Artifact.list(filter=f'in_context("{week.resource_name}")')),
        "by digest": [a.uri for a in aiplatform.Artifact.list(filter='metadata.digest.string_value="sha256:1"')],
        "accuracy": week.metadata["accuracy"],
    }


def experiments():
    # Without project and location, this call would go back to the default transport (aiplatform 2.7.0).
    aiplatform.init(experiment="weekly", **WHERE)
    with aiplatform.start_run("r1") as run:
        run.log_params({"lr": 0.1})
        run.log_metrics({"accuracy": 0.9})
        for step, loss in enumerate((1.0, 0.5), start=1):
            run.log_time_series_metrics({"loss": loss}, step=step)
    found = aiplatform.ExperimentRun("r1", experiment="weekly")
    board = aiplatform.Tensorboard.list()[0]
    return {
        "params": found.get_params(),
        "metrics": found.get_metrics(),
        "state": found.get_state(),
        "runs": [listed.name for listed in aiplatform.ExperimentRun.list(experiment="weekly")],
        "tensorboard runs": board.gca_resource.run_count,
    }


def endpoints():
    endpoint = aiplatform.Endpoint.create(display_name="x")
    listed = len(aiplatform.Endpoint.list(filter='display_name="x"'))
    endpoint.delete()
    return {"listed": listed, "left": len(aiplatform.Endpoint.list())}


aiplatform.init(staging_bucket="gs://b", **WHERE)
print(json.dumps({part.__name__: part() for part in (models, lineage, experiments, endpoints)}))
