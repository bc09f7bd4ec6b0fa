"""Bad configurations, one field each: exit code 2, one sentence with file, field and remedy, and nothing written."""

from pathlib import Path

import pytest

from config_edits import MACHINE, PERSISTENT, POOL, TODAY, Edit, drop, put, text, write
from infra.__main__ import main

WEEKLY = "google.schedules.weekly"
MONTHLY = "google.schedules.monthly_tuning"
BUILD = "google.cloud_build"

CASES: dict[str, tuple[Edit, str, str]] = {
    # The file itself.
    "an empty file": (lambda _: "", "env.yaml", "start from config/example.yaml"),
    "a list at the top": (lambda _: "- a\n", "this file holds a list", "start from config/example.yaml"),
    "a tab": (text("  project_id:", "\tproject_id:"), "line", "indent with spaces"),
    "a field twice": (text("  protect: true", "  protect: true\n  protect: false"), "protect", "remove one of them"),
    "an open bracket": (text("[us-central1]", "[us-central1"), "line", "check its indent, quotes and colons"),
    # Fields that are unknown or missing.
    "an unknown field": (put("google.colour", "red"), "google.colour: unknown field", "known fields: project_id"),
    "a misspelt field": (text("  region:", "  regoin:"), "google.regoin: unknown field", "did you mean 'region'?"),
    "a misspelt field in a list": (
        put(f"{PERSISTENT}.expire", "x"),
        f"{PERSISTENT}.expire: unknown field",
        "did you mean 'expires'?",
    ),
    "a misspelt purpose": (
        put("google.storage.bucket_names", {"model": "acme-models"}),
        "google.storage.bucket_names.model: unknown field",
        "did you mean 'models'?",
    ),
    "a missing field": (drop("google.project_id"), "google.project_id: this field is missing", "give the project's id"),
    "a missing section": (
        drop("google.budget"),
        "google.budget: this section is missing",
        "add it with billing_account, amount, currency_code and thresholds",
    ),
    "an empty section": (put("google.state", None), "google.state: nothing", "give a section with bucket and prefix"),
    "a missing field in a list": (drop(f"{PERSISTENT}.owner"), f"{PERSISTENT}.owner", "give an e-mail address"),
    "no google section": (drop("google"), "google: this environment has no Google Cloud project", "add the section"),
    # Values of the wrong kind.
    "text for true": (put("google.protect", "yes please"), "google.protect: 'yes please'", "give true or false"),
    "a list for text": (put("google.region", ["us-central1"]), "google.region: a list", "give one region"),
    "text for a list": (
        put("google.bigquery.analysts", "me"),
        "google.bigquery.analysts: 'me' is not a list",
        "give a list, each",
    ),
    "text for a section": (put("google.cmek", "on"), "google.cmek: 'on'", "section with enabled and rotation_days"),
    "a number without quotes": (
        text('"481516234207"', "481516234207"),
        "google.project_number: 481516234207 is not text",
        'put it in quotes: "481516234207"',
    ),
    "a day that does not exist": (text("2027-06-30", "2027-06-31"), f"{PERSISTENT}.expires", "such as 2027-06-30"),
    "a share of days": (put("google.storage.logs_days", 1.5), "logs_days: 1.5 is not a whole number", "whole days"),
    "true for a count": (put("google.monitoring.gpu_idle_minutes", True), "true is not a whole number", "give minutes"),
    "another engine": (
        put("google.schedules.engine", "vertex-ai"),
        "google.schedules.engine",
        "did you mean 'vertex_ai'?",
    ),
    "an engine that is none": (
        put("google.schedules.engine", "cron"),
        "google.schedules.engine",
        "give vertex_ai or cloud_scheduler",
    ),
    # Names and places.
    "capitals in the environment": (put("environment", "Prod"), "environment: 'Prod'", "lower-case letters"),
    "a display name for the project": (
        put("google.project_id", "Acme Vision"),
        "google.project_id",
        "not its display name",
    ),
    "a multi-region": (put("google.region", "US"), "google.region: 'US'", "multi-regions such as EU do not train"),
    "a zone for a region": (put("google.region", "us-central1-a"), "google.region", "give one region"),
    "a label with capitals": (
        put("google.labels.team", "Vision"),
        "google.labels: the label team: 'Vision'",
        "lower-case letters",
    ),
    "a label key with capitals": (put("google.labels.Team", "vision"), "google.labels", "beginning with a letter"),
    "a label of the stacks": (put("google.labels.stack", "x"), "google.labels: 'stack' is set by", "remove it"),
    "no cost center": (drop("google.labels.cost_center"), "google.labels: 'cost_center' is missing", "add it"),
    "a number as a label": (put("google.labels.cost_center", 42), "google.labels.cost_center", 'quotes: "42"'),
    "too many labels": (
        put("google.labels", {"owner": "a", "cost_center": "b"} | {f"l{n}": "x" for n in range(60)}),
        "google.labels: 62 labels",
        "keep at most 61",
    ),
    "dots in a bucket's name": (
        put("google.storage.bucket_names", {"data": "data.acme.example"}),
        "google.storage.bucket_names.data",
        "no dots",
    ),
    "google in a bucket's name": (
        put("google.state.bucket", "my-google-state"),
        "google.state.bucket",
        "choose another",
    ),
    "a state prefix that ends in a slash": (
        put("google.state.prefix", "a/"),
        "google.state.prefix",
        "an object prefix",
    ),
    "a soft delete of three days": (put("google.storage.soft_delete_days", 3), "soft_delete_days", "days, 7 to 90"),
    "everyone as an analyst": (
        put("google.bigquery.analysts", ["allUsers"]),
        "google.bigquery.analysts[0]: 'allUsers'",
        "never allUsers",
    ),
    "every account as an analyst": (
        put("google.bigquery.analysts", ["group:a@b.example", "allAuthenticatedUsers"]),
        "google.bigquery.analysts[1]",
        "give a named IAM principal",
    ),
    # Builds.
    "a secret that moves": (
        put(f"{BUILD}.repository.oauth_token_secret_version", "projects/acme/secrets/token/versions/latest"),
        f"{BUILD}.repository.oauth_token_secret_version",
        "a Secret Manager version by number",
    ),
    "an SSH clone address": (
        put(f"{BUILD}.repository.remote_uri", "git@github.com:acme/vision.git"),
        f"{BUILD}.repository.remote_uri",
        "the HTTPS clone address",
    ),
    "a builder by tag": (put(f"{BUILD}.builder_image", "a/b:latest"), f"{BUILD}.builder_image", "by digest"),
    "a small worker disk": (put(f"{BUILD}.private_pool.disk_size_gb", 50), "disk_size_gb: 50 is too small", "100 to"),
    # Pools.
    "a pool with no replicas": (
        put(POOL, {"machine_spec": {"machine_type": "n1-standard-8"}, "replica_count": 0, "usd_per_replica_hour": 1}),
        f"{POOL}.replica_count: 0 is too small",
        "give at least 1 replica, or remove the pool",
    ),
    "a pool that may shrink to nothing": (
        put(f"{POOL}.autoscaling_spec.min_replica_count", 0),
        f"{POOL}.autoscaling_spec.min_replica_count: 0",
        "only Ray clusters may go down to 0",
    ),
    "a pool that cannot grow": (
        put(f"{POOL}.autoscaling_spec.max_replica_count", 1),
        f"{POOL}.autoscaling_spec: max_replica_count 1",
        "give more, or replica_count instead",
    ),
    "a pool of two sizes": (put(f"{POOL}.replica_count", 2), f"{POOL}: replica_count and", "give one of them"),
    "a pool of no size": (drop(f"{POOL}.autoscaling_spec"), f"{POOL}: neither", "give one of them"),
    "no pools at all": (put(f"{PERSISTENT}.resource_pools", []), "resource_pools: an empty list", "at least one pool"),
    "an accelerator without a count": (drop(f"{MACHINE}.accelerator_count"), MACHINE, "give both, or neither"),
    "a boot disk that is none": (put(f"{POOL}.disk_spec.boot_disk_type", "ssd"), "boot_disk_type", "'pd-ssd'"),
    "a pool that costs nothing": (put(f"{POOL}.usd_per_replica_hour", 0), f"{POOL}.usd_per_replica_hour", "US dollars"),
    "an infinite price": (text("4.22", ".inf"), "usd_per_replica_hour: inf is not a finite number", "US dollars"),
    "a pool with capitals in its name": (
        put(f"{PERSISTENT}.name", "Night"),
        f"{PERSISTENT}.name",
        "such as night-a100",
    ),
    "an owner without an address": (put(f"{PERSISTENT}.owner", "Anna"), f"{PERSISTENT}.owner", "an e-mail address"),
    # Schedules.
    "a schedule of four fields": (
        put(f"{WEEKLY}.cron", "CRON_TZ=Europe/Paris 0 2 * *"),
        f"{WEEKLY}.cron: a cron schedule has five fields",
        "write it such as CRON_TZ=Europe/Paris 0 20 * * 5",
    ),
    "a schedule without a zone": (
        put(f"{WEEKLY}.cron", "0 2 * *"),
        f"{WEEKLY}.cron: the time zone",
        "write it such as",
    ),
    "a zone that is none": (put(f"{WEEKLY}.cron", "TZ=Paris 0 2 * * 5"), "'Paris' is not an IANA", "CRON_TZ=Europe/"),
    "an hour that is none": (put(f"{WEEKLY}.cron", "TZ=UTC 0 25 * * 5"), "the hour '25'", "give 0 to 23"),
    "a weekday that is none": (put(f"{WEEKLY}.cron", "TZ=UTC 0 2 * * FRY"), "the weekday 'FRY'", "SUN to SAT"),
    "a retrain every five minutes": (
        put(f"{WEEKLY}.cron", "CRON_TZ=UTC */5 * * * *"),
        f"{WEEKLY}.cron",
        "give one minute, one hour and one weekday",
    ),
    "a retrain every night": (put(f"{WEEKLY}.cron", "TZ=UTC 0 2 * * *"), "exactly once a week", "one weekday"),
    "a study every week": (put(f"{MONTHLY}.cron", "TZ=UTC 0 2 * * 5"), "exactly once a month", "one day from 1 to 28"),
    "a study on the 31st": (put(f"{MONTHLY}.cron", "TZ=UTC 0 2 31 * *"), f"{MONTHLY}.cron", "one day from 1 to 28"),
    "a study that ends on the 29th": (
        put(f"{MONTHLY}.cron", "TZ=UTC 0 20 28 * *"),
        f"{MONTHLY}: 12 hours after",
        "start on a day that leaves room",
    ),
    "two retrains at once": (
        put(f"{WEEKLY}.max_concurrent_run_count", 2),
        f"{WEEKLY}.max_concurrent_run_count: 2 is not 1",
        "give 1: two retrains of one week must not overlap",
    ),
    "a window of a day": (put(f"{WEEKLY}.window_hours", 24), f"{WEEKLY}.window_hours: 24 is too large", "1 to 23"),
    "a template by tag": (
        put(
            f"{WEEKLY}.template_uri", "https://us-central1-kfp.pkg.dev/acme-vision-prod/example-pipelines/weekly/latest"
        ),
        f"{WEEKLY}.template_uri",
        "a template pinned by digest",
    ),
    "a number as a parameter": (
        put(f"{WEEKLY}.parameter_values", {"epochs": 16}),
        f"{WEEKLY}.parameter_values.epochs: 16 is not text",
        'put it in quotes: "16"',
    ),
    # Alerts and money.
    "nobody to alert": (put("google.monitoring.notification_emails", []), "notification_emails", "at least one e-mail"),
    "an address twice": (
        put("google.monitoring.notification_emails", ["a@b.example", "c@d.example", "a@b.example"]),
        "google.monitoring.notification_emails: 'a@b.example' stands here twice",
        "remove one of them",
    ),
    "an analyst twice": (put("google.bigquery.analysts", 2 * ["group:a@b.example"]), "analysts: 'group:", "remove one"),
    "half an address": (put("google.monitoring.notification_emails", ["oncall"]), "emails[0]", "an e-mail address"),
    "a billing account that is none": (put("google.budget.billing_account", "acme"), "billing_account", "01A2B3-"),
    "a budget of cents": (put("google.budget.amount", 10.5), "google.budget.amount: 10.5", "whole units"),
    "a currency's sign": (put("google.budget.currency_code", "€"), "google.budget.currency_code", "such as EUR"),
    "thresholds that fall": (put("google.budget.thresholds", [1.0, 0.5]), "thresholds do not rise", "[0.5, 0.8, 1.0]"),
    "a threshold in per cent": (put("google.budget.thresholds", [50]), "thresholds[0]: 50 is too large", "a share"),
    "a key that never rotates": (put("google.cmek.rotation_days", 0), "google.cmek.rotation_days: 0", "1 to 365"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_configuration_is_one_sentence(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit, field, remedy = CASES[case]
    config, output = write(tmp_path / "env.yaml", edit), tmp_path / "out"
    assert main(["--config", str(config), "--output", str(output), "--now", TODAY]) == 2
    said = capsys.readouterr()
    (sentence,) = said.err.splitlines()
    assert sentence.startswith(f"infra: {config}")
    assert field in sentence
    assert remedy in sentence.partition(field)[2]
    assert said.out == ""
    assert not output.exists()


def test_of_several_mistakes_the_first_is_told_and_the_others_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write(tmp_path / "env.yaml", put("google.region", "US"), put("google.budget.amount", 0), put("root", ""))
    assert main(["--config", str(config), "--check"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("a folder, such as data (and 2 other mistakes in this file).")
