"""The specification that templates compile to, beside what kfp itself makes of the same pipelines."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from overnight.errors import OvernightError
from overnight.images.reference import parse_pinned
from overnight.pipeline.specification import compile_template, specification
from overnight.pipeline.template import Output, Step, Template, given
from overnight.pipeline.templates import TEMPLATES, find_template
from overnight.vertex_local.pipelines.spec import read_pipeline

TWINS = Path(__file__).parent / "kfp"
STEPS = parse_pinned(f"us-central1-docker.pkg.dev/acme/images/steps@sha256:{'a' * 64}")


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_key_for_key_what_kfp_compiles(name: str) -> None:
    assert specification(TEMPLATES[name], {"steps": STEPS}) == YAML(typ="safe").load(TWINS / f"{name}.yaml")


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_compiles_to_the_same_bytes_again(name: str) -> None:
    assert compile_template(TEMPLATES[name], {"steps": STEPS}) == compile_template(TEMPLATES[name], {"steps": STEPS})


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_reads_the_same_as_json_and_as_yaml(name: str) -> None:
    content = compile_template(TEMPLATES[name], {"steps": STEPS})
    for version in ("1.1", "1.2"):
        yaml = YAML(typ="safe", pure=True)
        yaml.version = version
        assert yaml.load(content) == specification(TEMPLATES[name], {"steps": STEPS})


def test_another_image_is_another_template() -> None:
    other = STEPS.with_digest(f"sha256:{'b' * 64}")
    first, second = (compile_template(TEMPLATES["weekly"], {"steps": image}) for image in (STEPS, other))
    assert first.replace(b"a" * 64, b"b" * 64) == second != first


def test_every_step_runs_in_an_image_by_digest() -> None:
    for template in TEMPLATES.values():
        executors = specification(template, {"steps": STEPS})["deploymentSpec"]["executors"].values()
        assert {executor["container"]["image"] for executor in executors} == {str(STEPS)}


def test_steps_that_need_nothing_and_put_out_nothing_have_no_definitions() -> None:
    bare = Template("bare", "Nothing.", (), (Step("list", "steps", ("pipeline", "list")),))
    assert specification(bare, {"steps": STEPS})["components"] == {"comp-list": {"executorLabel": "exec-list"}}


def test_a_step_that_takes_an_output_waits_for_the_step_that_makes_it() -> None:
    steps = (
        Step("make", "steps", ("snapshot", "create"), outputs=("name",)),
        Step("other", "steps", ("pipeline", "list")),
        Step("use", "steps", ("x", given("it")), takes={"it": Output("make", "name")}, after=("other",)),
    )
    compiled = specification(Template("chain", "A chain.", (), steps), {"steps": STEPS})
    assert read_pipeline(compiled).root.dag.tasks["use"].after == {"make", "other"}
    assert compiled["root"]["dag"]["tasks"]["use"]["dependentTasks"] == ["make", "other"]


@pytest.mark.parametrize(
    ("images", "sentence"),
    [
        (
            {},
            "the template weekly runs in the image steps, and none is given; "
            "add --image steps=HOST/PATH/steps@sha256:…, or take --from-release.",
        ),
        (
            {"steps": STEPS, "trainer-gpu": STEPS},
            "--image: the template weekly does not run in the image trainer-gpu; leave it out; it runs in steps.",
        ),
    ],
)
def test_the_images_must_be_those_that_the_steps_run_in(images: dict, sentence: str) -> None:
    with pytest.raises(OvernightError) as error:
        compile_template(TEMPLATES["weekly"], images)
    assert error.value.sentence == sentence


def test_an_unknown_template_is_refused_by_name() -> None:
    with pytest.raises(OvernightError) as error:
        find_template("nightly")
    assert error.value.sentence == "there is no template 'nightly'; give one of tuning, weekly."
