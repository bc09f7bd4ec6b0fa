"""The templates written for kfp: `python twins.py`, where kfp 2.17.3 is installed, makes weekly.yaml and tuning.yaml.

Not imported by any test, for kfp cannot be installed beside the rest: what it made is compared with what we make.
"""

from pathlib import Path

from kfp import compiler, dsl

IMAGE = f"us-central1-docker.pkg.dev/acme/images/steps@sha256:{'a' * 64}"
STEP = ["python3", "-m", "overnight", "pipeline", "step"]
NOW = dsl.PIPELINE_JOB_CREATE_TIME_UTC_PLACEHOLDER


@dsl.container_component
def import_(images: str, config: str):
    return dsl.ContainerSpec(IMAGE, STEP, ["--", "import", images, "--config", config])


@dsl.container_component
def append_shards(config: str, name: dsl.OutputPath(str), sha256: dsl.OutputPath(str)):
    arguments = ["--output", f"name={name}", "--output", f"sha256={sha256}"]
    return dsl.ContainerSpec(IMAGE, STEP, [*arguments, "--", "shards", "append", "--config", config])


@dsl.container_component
def create_snapshot(config: str, name: dsl.OutputPath(str)):
    command = ["snapshot", "create", "--config", config, "--now", NOW]
    return dsl.ContainerSpec(IMAGE, STEP, ["--output", f"name={name}", "--", *command])


@dsl.container_component
def train(job: str, config: str, run_id: dsl.OutputPath(str), weights_sha256: dsl.OutputPath(str)):
    arguments = ["--output", f"run_id={run_id}", "--output", f"weights_sha256={weights_sha256}"]
    return dsl.ContainerSpec(IMAGE, STEP, [*arguments, "--", "run", job, "--config", config, "--now", NOW])


@dsl.container_component
def promote(run_id: str, config: str, decision: dsl.OutputPath(str), reason: dsl.OutputPath(str)):
    arguments = ["--output", f"decision={decision}", "--output", f"reason={reason}"]
    command = ["model", "promote", run_id, "--config", config, "--now", NOW]
    return dsl.ContainerSpec(IMAGE, STEP, [*arguments, "--", *command])


@dsl.pipeline(name="weekly", description="From this week's images and labels to a decision: champion, or not.")
def weekly(config: str, images: str, job: str):
    """The steps, none from a cache.

    Args:
        config: The environment file, on a path that every step sees; its `root` keeps everything.
        images: The folder of class folders, or the table, with this week's images.
        job: The job spec, on a path that every step sees.
    """
    imported = import_(images=images, config=config).set_caching_options(False)
    appended = append_shards(config=config).after(imported).set_caching_options(False)
    made = create_snapshot(config=config).after(appended).set_caching_options(False)
    trained = train(job=job, config=config).after(made).set_caching_options(False)
    promote(run_id=trained.outputs["run_id"], config=config).set_caching_options(False)


@dsl.container_component
def submit(job: str, config: str, endpoint: str, run_id: dsl.OutputPath(str)):
    command = ["job", "submit", job, "--config", config, "--now", NOW, "--endpoint", endpoint]
    return dsl.ContainerSpec(IMAGE, STEP, ["--output", f"run_id={run_id}", "--", *command])


@dsl.container_component
def watch(run_id: str, config: str, endpoint: str):
    return dsl.ContainerSpec(IMAGE, STEP, ["--", "job", "watch", run_id, "--config", config, "--endpoint", endpoint])


@dsl.pipeline(name="tuning", description="A study on Vertex AI: submitted, and watched to its end.")
def tuning(config: str, job: str, endpoint: str = ""):
    """The steps, none from a cache.

    Args:
        config: The environment file, on a path that every step sees; its `root` keeps everything.
        job: The job spec, on a path that every step sees.
        endpoint: Where Vertex AI's API is served; empty: Google's, of the job's region.
    """
    submitted = submit(job=job, config=config, endpoint=endpoint).set_caching_options(False)
    watch(run_id=submitted.outputs["run_id"], config=config, endpoint=endpoint).set_caching_options(False)


if __name__ == "__main__":
    for template in (weekly, tuning):
        compiler.Compiler().compile(template, str(Path(__file__).with_name(f"{template.name}.yaml")))
