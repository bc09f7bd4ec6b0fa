"""Load, build, synthesize."""

from pathlib import Path
from typing import Any

from infra import cdk
from infra.settings import Settings
from infra.stacks.artifacts import Artifacts
from infra.stacks.delivery import Delivery
from infra.stacks.foundation import Foundation
from infra.stacks.training import Training

STACKS = (Foundation, Artifacts, Delivery, Training)
"""In the order of their life cycles: each needs those before it."""


def build(settings: Settings, output: Path) -> Any:
    """An app with the four stacks, to be written under `output`."""
    app = cdk.App(outdir=str(output))
    enabled: list[str] = sorted({api for stack in STACKS for api in stack.apis})
    foundation = Foundation(app, settings, enabled)
    artifacts = Artifacts(app, settings)
    delivery = Delivery(app, settings)
    training = Training(app, settings)
    artifacts.add_dependency(foundation)
    delivery.add_dependency(artifacts)
    training.add_dependency(artifacts)
    return app
