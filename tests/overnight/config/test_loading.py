"""The environment file: what is accepted, and the one sentence for each mistake."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import get_origin

import pytest
from pydantic import BaseModel

from overnight.config import ConfigError, Environment, load
from overnight.config.schema import spot

CONFIG = Path(__file__).parents[3] / "config"
EXAMPLE = (CONFIG / "example.yaml").read_text(encoding="utf-8")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "env.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert "\n" not in caught.value.sentence
    return caught.value.sentence


def fields(model: type[BaseModel], before: tuple[int | str, ...] = ()) -> Iterator[tuple[int | str, ...]]:
    """The location of every value that a file may hold, one element of each list."""
    for name in model.model_fields:
        location: tuple[int | str, ...] = (*before, name)
        kind = spot(Environment, location).kind
        if get_origin(kind) is list:
            location = (*location, 0)
            kind = spot(Environment, location).kind
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from fields(kind, location)
        else:
            yield location


def test_the_local_environment_is_complete_as_it_is() -> None:
    environment = load(CONFIG / "local.yaml")
    assert environment.environment == "local"
    assert environment.google is None
    assert environment.shards_path == environment.root_path / "shards"


def test_every_value_that_can_be_wrong_has_words_for_what_fits() -> None:
    """Booleans and values from a list need none: the loader names what there is."""
    silent = [
        location
        for location in fields(Environment)
        if not (here := spot(Environment, location)).description and not here.choices and here.kind is not bool
    ]
    # Mappings: their fixed names, or their values, are told instead.
    assert [location[-1] for location in silent] == ["bucket_names", "parameter_values", "parameter_values"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("environment: local\n", "env.yaml, root: this field is missing; give a folder, such as data."),
        (
            "environment: local\nroot: d\nvalidaton: {}\n",
            "env.yaml, validaton: unknown field; did you mean 'validation'?",
        ),
        ("environment: local\nrot: d\n", "env.yaml, rot: unknown field; did you mean 'root'?"),
        (
            "environment: local\nroot: d\nvalidation: {max_row_dorp: 0.1}\n",
            "env.yaml, validation.max_row_dorp: unknown field; did you mean 'max_row_drop'?",
        ),
        (
            "environment: local\nroot: d\nlabels: {colour: red}\n",
            "env.yaml, labels.colour: unknown field; known fields: database, table.",
        ),
        (
            "environment: local\nroot: d\nsplit: {train: 0.9}\n",
            "env.yaml, split: the shares add up to 1.2; make train + validation + test 1.",
        ),
        (
            "environment: local\nroot: d\ngate: {confidence: 2}\n",
            "env.yaml, gate.confidence: 2 is too large; give a share between 0.5 and 1, such as 0.95.",
        ),
        (
            "environment: Local Env\nroot: d\n",
            "env.yaml, environment: 'Local Env' does not fit; give a name of at most 21 lower-case letters",
        ),
        (
            "environment: local\nroot: d\nshards: {images_per_shard: many}\n",
            "env.yaml, shards.images_per_shard: 'many' is not a whole number; give a whole number, at least 1.",
        ),
        (
            "environment: local\nroot: d\nshards: {images_per_shard: true}\n",
            "env.yaml, shards.images_per_shard: true is not a whole number; give a whole number, at least 1.",
        ),
        (
            "environment: local\nroot: d\nvalidation: {allow_new_classes: yes please}\n",
            "env.yaml, validation.allow_new_classes: 'yes please' is not true or false; give true or false.",
        ),
        (
            "environment: local\nroot: d\nvalidation: {max_nulls: .nan}\n",
            "env.yaml, validation.max_nulls: nan is not a finite number; give a share, 0 to 1.",
        ),
        (
            "environment: local\nroot: d\ngate: {split: tset}\n",
            "env.yaml, gate.split: 'tset' is none of the values; did you mean 'test'?",
        ),
        (
            "environment: local\nroot: d\ngate: {split: x}\n",
            "env.yaml, gate.split: 'x' is none of the values; give validation or test.",
        ),
        ("environment: local\nroot: 7\n", 'env.yaml, root: 7 is not text; put it in quotes: "7".'),
        ("environment: local\nroot: [d]\n", "env.yaml, root: a list is not text; give a folder, such as data."),
        ("environment: local\nroot:\n", "env.yaml, root: nothing is given here; give a folder, such as data."),
        (
            "environment: local\nroot: d\nlabels:\n",
            "env.yaml, labels: nothing is given here; give a section with database and table;",
        ),
        (
            "environment: local\nroot: d\nlabels: table\n",
            "env.yaml, labels: 'table' is not a section with fields of its own; give a section with database and",
        ),
        (
            "environment: local\nroot: d\ngate: {seed: 1.5, bootstrap_samples: 1, min_groups: 0}\n",
            "env.yaml, gate.bootstrap_samples: 1 is too small; "
            "give a whole number, at least 100 (and 2 other mistakes in this file).",
        ),
        ("environment: local\nroot: d\n1: 2\n", "env.yaml, [1]: 1 is not a field's name; write names as plain text."),
    ],
)
def test_a_mistake_in_a_field_names_file_field_and_remedy(tmp_path: Path, text: str, says: str) -> None:
    assert says in refusal(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- a\n- b\n", "env.yaml: an environment is a mapping of fields, this file holds a list; start from config/"),
        ("local\n", "this file holds one value; start from config/"),
        ("", "env.yaml: the file is empty; start from config/example.yaml"),
        ("# nothing yet\n", "env.yaml: the file is empty"),
        (
            "environment: local\nroot: a\nroot: b\n",
            "env.yaml line 3, root: this field appears twice; remove one of them.",
        ),
        ("environment: local\nlabels:\n\ttable: a\n", "env.yaml line 3: a tab stands where YAML wants spaces; indent"),
        ("environment: [\n", "env.yaml line 2: this is not YAML: expected the node content"),
        ("environment: a: b\n", "env.yaml line 1: this is not YAML: mapping values are not allowed here; check its"),
        ("root: a\n---\nroot: b\n", "env.yaml line 2: a second document begins here; keep one, and remove the '---'."),
        ("root: \x07\n", "env.yaml: this is not YAML: it holds characters that do not print; remove them."),
    ],
)
def test_what_is_not_a_yaml_mapping_is_told_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    assert says in refusal(written(tmp_path, text))


def test_bytes_that_are_not_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "env.yaml"
    path.write_bytes(b"root: \xff\xfe\n")
    assert "env.yaml: this is not text in UTF-8; save it as UTF-8." in refusal(path)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    assert "no such environment file; give one with --config" in refusal(tmp_path / "nowhere.yaml")


def test_a_folder_is_no_environment_file(tmp_path: Path) -> None:
    assert "this cannot be read" in refusal(tmp_path)


@pytest.mark.parametrize("day", ["2027-06-30", '"2027-06-30"'])
def test_a_day_may_stand_in_quotes(tmp_path: Path, day: str) -> None:
    google = load(written(tmp_path, EXAMPLE.replace("expires: 2027-06-30", f"expires: {day}"))).google
    assert google is not None
    assert google.persistent_resources[0].expires == date(2027, 6, 30)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("expires: 2027-06-30", "expires: 2027-06-31", "2027-06-31 is not a day; give one such as 2027-06-30."),
        ("expires: 2027-06-30", "expires: soon", "soon is not a day; give one such as 2027-06-30."),
        ("expires: 2027-06-30", "expires: 20270630", "20270630 is not a day; give one such as"),
        ("expires: 2027-06-30", "expires: 2027-06-30T10:00:00Z", "is not a day; give one such as"),
        ("expires: 2027-06-30", "expirse: 2027-06-30", "expirse: unknown field; did you mean 'expires'?"),
        (
            "machine_type: a2",
            "machine_typ: a2",
            "machine_spec.machine_typ: unknown field; did you mean 'machine_type'?",
        ),
        ("disk_size_gb: 200", "disk_size: 200", "private_pool.disk_size: unknown field; did you mean 'disk_size_gb'?"),
        (
            "bucket_names: {}",
            "bucket_names: {shrads: a-b-c}",
            "bucket_names.shrads: unknown field; did you mean 'shards'?",
        ),
        ("bucket_names: {}", "bucket_names: {x: a-b-c}", "known fields: data, shards, staging, models, logs."),
        ("analysts: [", 'analysts: ["allUsers", ', "analysts[0]: 'allUsers' does not fit; give a named IAM principal"),
        (
            "allowed_registries: []",
            "allowed_registries: [us-docker.pkg.dev]",
            "allowed_registries[0]: 'us-docker.pkg.dev' does not fit; give a host and at least the first part of"
            " a path",
        ),
        (
            "allowed_registries: []",
            "allowed_registries: [eu.gcr.io/acme]",
            "allowed_registries[0]: Container Registry (gcr.io) is gone; name a registry that exists",
        ),
        (
            "allowed_registries: []",
            "allowed_registries: [us-docker.pkg.dev/acme, us-docker.pkg.dev/acme]",
            "allowed_registries: ",
        ),
    ],
)
def test_inside_lists_and_optional_sections_the_field_is_named_as_well(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    assert says in refusal(written(tmp_path, EXAMPLE.replace(old, new, 1)))
