from datetime import UTC, datetime

import pytest

from overnight.config import Environment
from overnight.models import registry
from overnight.models.promote import promote
from overnight.models.resolve import model_folder

RUN = "20260302-020000-aaaaaaaa"


@pytest.fixture
def environment(root):
    root.path.mkdir()
    return Environment(environment="test", root=str(root.path))


@pytest.fixture
def promoted(root, environment):
    run = root.evaluated_run(RUN, root.snapshot(), accuracy=0.9)
    promote(environment, RUN, None, datetime(2026, 3, 2, 3, tzinfo=UTC), lambda _: None)
    return run


def test_a_model_is_found_by_every_name_it_has(environment, root, promoted):
    version = root.models / "demo" / "versions" / "1"
    for reference in ("demo", "demo:champion", "demo:1"):
        assert model_folder(environment, reference) == version
    assert model_folder(environment, RUN) == promoted / "model"
    assert model_folder(environment, str(promoted)) == promoted / "model"
    assert model_folder(environment, str(version)) == version


@pytest.mark.usefixtures("promoted")
def test_a_folder_that_has_a_models_name_by_chance_does_not_hide_it(environment, root, tmp_path, monkeypatch):
    (tmp_path / "demo").mkdir()
    monkeypatch.chdir(tmp_path)
    assert model_folder(environment, "demo") == root.models / "demo" / "versions" / "1"


@pytest.mark.usefixtures("promoted")
@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("other", r"there is no model 'other'; models here: demo\."),
        ("demo:7", r"model 'demo' has no version 7; it has 1\."),
        ("demo:newest", r"'newest' is neither a version nor 'champion'"),
        ("../demo", r"there is no model '\.\./demo'"),
    ],
)
def test_a_name_that_means_nothing_is_answered_with_what_exists(environment, reference, sentence):
    with pytest.raises(registry.RegistryError, match=sentence):
        model_folder(environment, reference)


def test_a_folder_or_run_without_a_model_is_said(environment, root, promoted, tmp_path):
    (promoted / "model" / "model.json").unlink()
    with pytest.raises(registry.RegistryError, match="this run left no model"):
        model_folder(environment, RUN)
    with pytest.raises(registry.RegistryError, match=r"this folder holds no model\.json"):
        model_folder(environment, str(tmp_path))


def test_an_empty_registry_says_what_to_do(environment):
    with pytest.raises(registry.RegistryError, match="promote a run first"):
        model_folder(environment, "demo")


def test_a_model_that_was_only_refused_has_no_champion(root, environment):
    root.evaluated_run(RUN, root.snapshot(), accuracy=0.3)
    promote(environment, RUN, None, datetime(2026, 3, 2, 3, tzinfo=UTC), lambda _: None)
    with pytest.raises(registry.RegistryError, match="'demo' has no champion yet"):
        model_folder(environment, "demo")
