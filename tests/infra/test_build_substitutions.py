"""What the triggers pass is what build files are judged with."""

import json
from datetime import date
from pathlib import Path

from infra import cdk
from infra.settings import settings
from infra.stacks.delivery import Delivery
from overnight.builds.given import TRIGGERS, of_environment
from overnight.config import load

EXAMPLE = Path(__file__).parents[2] / "config" / "example.yaml"


def test_build_files_are_judged_with_what_every_trigger_passes(tmp_path: Path) -> None:
    environment = load(EXAMPLE)
    app = cdk.App(outdir=str(tmp_path))
    Delivery(app, settings(environment, EXAMPLE, today=date(2026, 12, 1)))
    app.synth()
    stack = json.loads((tmp_path / "stacks/delivery/cdk.tf.json").read_text())
    expected = of_environment(environment)
    assert set(expected) == set(TRIGGERS)
    for trigger in stack["resource"]["google_cloudbuild_trigger"].values():
        passed = trigger["substitutions"]
        # The pool's name is a reference that Terraform resolves.
        assert {**passed, "_POOL": ""} == expected
