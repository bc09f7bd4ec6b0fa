"""The templates that schedules start."""

from overnight.pipeline.errors import TemplateError
from overnight.pipeline.template import CREATED, Output, Parameter, Step, Template, given

CONFIG = Parameter("config", "The environment file, on a path that every step sees; its `root` keeps everything.")
JOB = Parameter("job", "The job spec, on a path that every step sees.")
IN_THIS_ENVIRONMENT = ("--config", given("config"), "--now", CREATED)

WEEKLY = Template(
    name="weekly",
    description="From this week's images and labels to a decision: champion, or not.",
    parameters=(
        CONFIG,
        Parameter("images", "The folder of class folders, or the table, with this week's images."),
        JOB,
    ),
    steps=(
        Step("import", "steps", ("import", given("images"), "--config", given("config"))),
        Step(
            "append-shards",
            "steps",
            ("shards", "append", "--config", given("config")),
            outputs=("name", "sha256"),
            after=("import",),
        ),
        # A bad export ends the run here: exit code 3, and a report.
        Step(
            "create-snapshot",
            "steps",
            ("snapshot", "create", *IN_THIS_ENVIRONMENT),
            outputs=("name",),
            after=("append-shards",),
        ),
        Step(
            "train",
            "steps",
            ("run", given("job"), *IN_THIS_ENVIRONMENT),
            outputs=("run_id", "weights_sha256"),
            after=("create-snapshot",),
        ),
        # Evaluates both models before it decides; a refusal is exit code 3, so somebody hears of it.
        Step(
            "promote",
            "steps",
            ("model", "promote", given("run_id"), *IN_THIS_ENVIRONMENT),
            outputs=("decision", "reason"),
            takes={"run_id": Output("train", "run_id")},
        ),
    ),
)

TUNING = Template(
    name="tuning",
    description="A study on Vertex AI: submitted, and watched to its end.",
    parameters=(
        CONFIG,
        JOB,
        Parameter("endpoint", "Where Vertex AI's API is served; empty: Google's, of the job's region.", default=""),
    ),
    steps=(
        Step(
            "submit",
            "steps",
            ("job", "submit", given("job"), *IN_THIS_ENVIRONMENT, "--endpoint", given("endpoint")),
            outputs=("run_id",),
        ),
        Step(
            "watch",
            "steps",
            ("job", "watch", given("run_id"), "--config", given("config"), "--endpoint", given("endpoint")),
            takes={"run_id": Output("submit", "run_id")},
        ),
    ),
)

TEMPLATES = {template.name: template for template in (TUNING, WEEKLY)}


def find_template(name: str) -> Template:
    """The template `name`; raises TemplateError."""
    if name not in TEMPLATES:
        raise TemplateError(f"there is no template {name!r}", remedy=f"give one of {', '.join(TEMPLATES)}")
    return TEMPLATES[name]
