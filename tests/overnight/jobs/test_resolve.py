from datetime import UTC, datetime
from pathlib import Path

import pytest

from overnight.jobs.errors import SpecError
from overnight.jobs.resolve import Inputs, resolve
from overnight.jobs.spec import load, spec_bytes

NOW = datetime(2026, 3, 3, 2, 0, 0, tzinfo=UTC)
INPUTS = Inputs(Path("/data/snapshots/20260303-0123456789ab"), Path("/data/shards"))


def environment(pool) -> dict[str, str]:
    return {item.name: item.value for item in pool.container_spec.env}


def test_every_container_is_told_what_to_read(good, write):
    resolved = resolve(load(write(good)), INPUTS, Path("/data/runs"), NOW)
    for pool in resolved.custom_job.job_spec.worker_pool_specs:
        variables = environment(pool)
        assert variables["OVERNIGHT_RUN_ID"] == resolved.run_id
        assert variables["OVERNIGHT_SNAPSHOT"] == str(INPUTS.snapshot)
        assert variables["OVERNIGHT_SHARDS"] == "/data/shards"
    assert environment(resolved.custom_job.job_spec.worker_pool_specs[0])["OMP_NUM_THREADS"] == "1"


def test_the_run_writes_into_its_own_folder(good, write):
    resolved = resolve(load(write(good)), INPUTS, Path("/data/runs"), NOW)
    assert resolved.folder == Path("/data/runs") / resolved.run_id
    assert resolved.custom_job.job_spec.base_output_directory.output_uri_prefix == str(resolved.folder)


def test_the_spec_stays_as_it_was(good, write):
    spec = load(write(good))
    before = spec_bytes(spec.custom_job)
    resolve(spec, INPUTS, Path("/data/runs"), NOW)
    assert spec_bytes(spec.custom_job) == before


def test_the_same_inputs_give_the_same_bytes_and_run_id(good, write):
    path = write(good)
    first, second = (resolve(load(path), INPUTS, Path("/data/runs"), NOW) for _ in range(2))
    assert first.run_id == second.run_id
    assert spec_bytes(first.custom_job) == spec_bytes(second.custom_job)
    assert first.run_id.startswith("20260303-020000-")


@pytest.mark.parametrize("changed", ["--preset=smoke", "--preset=demo --set a.b=1"])
def test_another_message_is_another_run(changed, good, write):
    one = resolve(load(write(good)), INPUTS, Path("/data/runs"), NOW)
    other = resolve(load(write(good.replace("--preset=demo", changed))), INPUTS, Path("/data/runs"), NOW)
    assert one.run_id != other.run_id


def test_an_output_folder_of_its_own_is_refused(good, write):
    path = write(
        good.replace("    scheduling:", "    baseOutputDirectory: {outputUriPrefix: gs://b/x}\n    scheduling:")
    )
    with pytest.raises(SpecError, match="remove the field"):
        resolve(load(path), INPUTS, Path("/data/runs"), NOW)


PINNED = f"us-central1-docker.pkg.dev/p/r/trainer-cpu@sha256:{'0a' * 32}"


@pytest.mark.parametrize(
    ("image", "told"),
    [
        (PINNED, [PINNED]),
        ("us-central1-docker.pkg.dev/p/r/trainer-cpu:v1", []),
        (f"{PINNED}0", []),
        (f"us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver@sha256:{'0a' * 32}", []),
    ],
)
def test_a_container_is_told_the_image_that_its_spec_pins(image, told, good, write):
    path = write(good.replace("containerSpec:", f"containerSpec:\n          imageUri: {image}"))
    resolved = resolve(load(path), INPUTS, Path("/data/runs"), NOW)
    for pool in resolved.custom_job.job_spec.worker_pool_specs:
        assert [item.value for item in pool.container_spec.env if item.name == "OVERNIGHT_IMAGE"] == told


def test_an_image_that_the_spec_tells_itself_is_told_once(good, write):
    given = good.replace("containerSpec:", f"containerSpec:\n          imageUri: {PINNED}", 1)
    given = given.replace(
        "          env:\n", f"          env:\n            - {{name: OVERNIGHT_IMAGE, value: '{PINNED}'}}\n"
    )
    pool = resolve(load(write(given)), INPUTS, Path("/data/runs"), NOW).custom_job.job_spec.worker_pool_specs[0]
    assert [item.value for item in pool.container_spec.env if item.name == "OVERNIGHT_IMAGE"] == [PINNED]
