"""Environments whose fields are right one by one and wrong together: with each other, with today, with siblings."""

from pathlib import Path

import pytest

from config_edits import (
    MACHINE,
    PERSISTENT,
    POOL,
    TODAY,
    Edit,
    both,
    drop,
    gpu,
    in_region,
    put,
    write,
)
from infra.__main__ import main

TEMPLATE = "https://us-central1-kfp.pkg.dev/acme-vision-prod/example-pipelines/weekly/sha256:" + 64 * "0"
OTHER_NETWORK = "projects/111111111111/global/networks/builds"

CASES: dict[str, tuple[Edit, str, str]] = {
    # Places.
    "a region that does not offer the accelerator": (
        in_region("us-west2"),
        "google.region: us-west2 does not offer NVIDIA_TESLA_A100 for training",
        "the nearest regions that do are us-west4, us-west3, us-central1",
    ),
    "a misspelt region": (
        in_region("us-centrall1"),
        "google.region: there is no region",
        "did you mean 'us-central1'?",
    ),
    "a region that is not allowed": (
        put("google.allowed_regions", ["europe-west4"]),
        "google.allowed_regions: the region us-central1",
        "add it",
    ),
    "a network of another project": (
        put("google.cloud_build.private_pool.peered_network", OTHER_NETWORK),
        "google.cloud_build.private_pool.peered_network: the network is of project 111111111111",
        "give projects/481516234207/global/networks/NAME",
    ),
    # Names.
    "an environment with a long name": (
        both(put("environment", "a" * 21), put("google.persistent_resources", [])),
        "environment: the service account",
        "give a name of at most 20 characters",
    ),
    "two buckets of one name": (
        put("google.storage.bucket_names", {"data": "acme-all", "shards": "acme-all"}),
        "google.storage.bucket_names: data and shards are both called 'acme-all'",
        "give each bucket its own name",
    ),
    "a bucket with another's default name": (
        put("google.storage.bucket_names", {"data": "acme-vision-prod-example-logs"}),
        "google.storage.bucket_names: data and logs",
        "give each bucket its own name",
    ),
    "state among the models": (
        put("google.state.bucket", "acme-vision-prod-example-models"),
        "google.state.bucket: 'acme-vision-prod-example-models' is the bucket for models",
        "give Terraform's state a bucket of its own",
    ),
    # Pools.
    "a machine that does not exist": (
        gpu("a2-highgpu-1", "NVIDIA_TESLA_A100", 1),
        f"{MACHINE}.machine_type: there is no machine type 'a2-highgpu-1'",
        "did you mean 'a2-highgpu-1g'?",
    ),
    "a machine that is not for training": (
        gpu("n2d-standard-4", None, None),
        f"{MACHINE}.machine_type: n2d-standard-4 exists, but",
        "give a listed one",
    ),
    "an A100 machine without its accelerators": (
        gpu("a2-highgpu-1g", None, None),
        f"{MACHINE}.accelerator_type: a2-highgpu-1g carries its own",
        "give NVIDIA_TESLA_A100 and the count 1",
    ),
    "an accelerator on the wrong machine": (
        gpu("a2-highgpu-1g", "NVIDIA_L4", 1),
        f"{MACHINE}.accelerator_type: a2-highgpu-1g does not carry NVIDIA_L4",
        "such as g2-standard-4",
    ),
    "too many accelerators": (
        gpu("a2-highgpu-1g", "NVIDIA_TESLA_A100", 8),
        f"{MACHINE}.accelerator_count: a2-highgpu-1g does not carry 8",
        "give 1",
    ),
    "a misspelt accelerator": (
        gpu("a2-highgpu-1g", "NVIDIA_A100", 1),
        f"{MACHINE}.accelerator_type: there is no accelerator 'NVIDIA_A100'",
        "a2-highgpu-1g carries NVIDIA_TESLA_A100",
    ),
    "a retired accelerator": (
        gpu("n1-standard-8", "NVIDIA_TESLA_K80", 1),
        f"{MACHINE}.accelerator_type: NVIDIA_TESLA_K80 is retired",
        "NVIDIA_TESLA_T4",
    ),
    "an accelerator without support": (
        gpu("n1-standard-8", "NVIDIA_TESLA_P100", 1),
        f"{MACHINE}.accelerator_type: support of NVIDIA_TESLA_P100 ended on 2026-09-15",
        "give another",
    ),
    "a boot disk that does not fit": (
        gpu("a3-ultragpu-8g", "NVIDIA_H200_141GB", 8),
        f"{POOL}.disk_spec.boot_disk_type: a3-ultragpu-8g does not boot from pd-ssd",
        "give hyperdisk-balanced",
    ),
    "a pool of TPUs": (
        gpu("ct5lp-hightpu-4t", None, None),
        f"{MACHINE}.machine_type: ct5lp-hightpu-4t carries TPUs",
        "name TPUs in the job itself",
    ),
    "a machine by reservation": (
        gpu("a4x-highgpu-4g", "NVIDIA_GB200", 4, "hyperdisk-balanced"),
        f"{MACHINE}.machine_type: a4x-highgpu-4g is had by reservation only",
        "give a machine such as a3-ultragpu-8g",
    ),
    "a pool that is no longer wanted": (
        put(f"{PERSISTENT}.expires", "2026-11-29"),
        f"{PERSISTENT}.expires: night-a100-v1 was wanted until 2026-11-29, and today is 2026-11-30",
        "ask vision-team@acme.example, then give a later day, or set enabled to false",
    ),
    "prices of tomorrow": (
        put(f"{PERSISTENT}.prices_as_of", "2026-12-01"),
        f"{PERSISTENT}.prices_as_of: 2026-12-01 is yet to come",
        "give the day the prices were read",
    ),
    "prices of last year": (
        put(f"{PERSISTENT}.prices_as_of", "2025-11-29"),
        f"{PERSISTENT}.prices_as_of: the prices of 2025-11-29 are more than 365 days old",
        "read usd_per_replica_hour from today's price list",
    ),
    "an idle day that costs too much": (
        put(f"{POOL}.autoscaling_spec.min_replica_count", 2),
        f"{PERSISTENT}.max_idle_usd_per_day: with no job on it, night-a100-v1 costs "
        "24 h x (2 x 4.22) = 202.56 USD a day, above 120.00",
        "keep fewer replicas, or raise the limit",
    ),
    "two pools of one name": (
        lambda content: put("google.persistent_resources", 2 * [{**_pool(), "max_idle_usd_per_day": 1000}])(content),
        "google.persistent_resources[1].name: 'night-v1' is also the name of persistent_resources[0]",
        "give each its own",
    ),
    # Schedules.
    "a template of another region": (
        put("google.schedules.weekly.template_uri", TEMPLATE.replace("us-central1", "europe-west4")),
        "google.schedules.weekly.template_uri: the template is not this environment's (host europe-west4-kfp.pkg.dev",
        "push it to https://us-central1-kfp.pkg.dev/acme-vision-prod/example-pipelines and give its address there",
    ),
    "a template of another project": (
        put("google.schedules.weekly.template_uri", TEMPLATE.replace("vision-prod", "vision-dev")),
        "google.schedules.weekly.template_uri",
        "project acme-vision-dev instead of acme-vision-prod",
    ),
    "a template of another environment": (
        put("google.schedules.monthly_tuning.template_uri", TEMPLATE.replace("example-", "dev-")),
        "google.schedules.monthly_tuning.template_uri",
        "repository dev-pipelines instead of example-pipelines",
    ),
}


def _pool() -> dict[str, object]:
    return {
        "name": "night-v1",
        "owner": "a@b.example",
        "expires": "2027-01-01",
        "resource_pools": [
            {"machine_spec": {"machine_type": "n1-standard-8"}, "replica_count": 1, "usd_per_replica_hour": 0.5}
        ],
        "prices_as_of": "2026-11-01",
    }


SIBLINGS: dict[str, tuple[Edit, str, str]] = {
    "a sibling of the same name": (
        drop("google.persistent_resources"),
        "environment: {sibling} is called 'example' as well, and each would overwrite the other's Terraform state",
        "give each environment its own name",
    ),
    "a sibling of the same name with its own state": (
        put("google.state.prefix", "elsewhere"),
        "environment: {sibling} is called 'example' as well; ",
        "give each environment its own name",
    ),
    "a sibling that has taken a bucket": (
        both(
            put("environment", "prod"),
            put("google.storage.bucket_names", {"models": "acme-vision-prod-example-models"}),
        ),
        "google.storage.bucket_names: the bucket 'acme-vision-prod-example-models' is taken by {sibling} for models",
        "give it another name",
    ),
    "a sibling that keeps its state in one of the buckets": (
        both(put("environment", "prod"), put("google.state.bucket", "acme-vision-prod-example-data")),
        "google.storage.bucket_names: the bucket 'acme-vision-prod-example-data' is taken by {sibling} for Terraform's",
        "give it another name",
    ),
    "a sibling whose bucket holds this one's state": (
        both(
            put("environment", "prod"),
            put("google.state.bucket", "acme-prod-state"),
            put("google.storage.bucket_names", {"logs": "acme-vision-prod-terraform-state"}),
        ),
        "google.state.bucket: the bucket 'acme-vision-prod-terraform-state' is taken by {sibling} for logs",
        "give Terraform's state a bucket of its own",
    ),
    "a sibling with another number for the project": (
        both(put("environment", "prod"), put("google.project_number", "111111111111")),
        "google.project_number: {sibling} has 111111111111 for the same project acme-vision-prod",
        "gcloud projects describe acme-vision-prod",
    ),
    "a sibling that makes the topic as well": (
        both(put("environment", "prod"), drop("google.persistent_resources")),
        "google.cloud_build.notifications: {sibling} makes the project's one topic for builds as well",
        "set it to false in one of the two",
    ),
    "a sibling with a pool of the same name": (
        both(put("environment", "prod"), put("google.cloud_build.notifications", False)),
        f"{PERSISTENT}.name: {{sibling}} has 'night-a100-v1' in the same project and region",
        "give each pool its own name",
    ),
}


def refusal(config: Path, capsys: pytest.CaptureFixture[str]) -> str:
    output = config.parent / "out"
    assert main(["--config", str(config), "--output", str(output), "--now", TODAY]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert not output.exists()
    (sentence,) = said.err.splitlines()
    assert sentence.startswith(f"infra: {config}, ")
    return sentence


@pytest.mark.parametrize("case", CASES)
def test_an_environment_that_does_not_hold_together(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit, field, remedy = CASES[case]
    sentence = refusal(write(tmp_path / "env.yaml", edit), capsys)
    assert field in sentence
    assert remedy in sentence.partition(field)[2]


@pytest.mark.parametrize("case", SIBLINGS)
def test_an_environment_that_does_not_go_with_the_one_beside_it(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit, field, remedy = SIBLINGS[case]
    sibling = write(tmp_path / "sibling.yaml", edit)
    sentence = refusal(write(tmp_path / "env.yaml"), capsys)
    assert field.format(sibling=sibling) in sentence
    assert remedy in sentence
