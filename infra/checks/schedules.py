"""Pipelines by the clock: each template in this environment's own repository."""

from collections.abc import Iterator

from overnight.config.mistakes import Mistake
from overnight.config.names import Names
from overnight.config.training import ScheduledPipeline


def schedule_mistakes(names: Names) -> Iterator[Mistake]:
    """Templates of another region, project or environment."""
    schedules = names.google.schedules
    yield from _template("google.schedules.weekly", schedules.weekly, names)
    yield from _template("google.schedules.monthly_tuning", schedules.monthly_tuning, names)


def _template(field: str, pipeline: ScheduledPipeline, names: Names) -> Iterator[Mistake]:
    # https://REGION-kfp.pkg.dev/PROJECT/REPOSITORY/NAME/sha256:DIGEST
    _, _, host, project, repository, _, _ = pipeline.template_uri.split("/")
    own_host, own_project = names.registry_host("kfp"), names.google.project_id
    own_repository = names.repository("pipelines")
    different = [
        f"{what} {found} instead of {own}"
        for what, found, own in (
            ("host", host, own_host),
            ("project", project, own_project),
            ("repository", repository, own_repository),
        )
        if found != own
    ]
    if different:
        yield Mistake(
            f"{field}.template_uri",
            f"the template is not this environment's ({', '.join(different)})",
            f"push it to https://{own_host}/{own_project}/{own_repository} and give its address there",
        )
