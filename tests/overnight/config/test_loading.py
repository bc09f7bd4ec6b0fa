"""The environment file: what is accepted, and the one sentence for each mistake."""

from pathlib import Path

import pytest

from overnight.config import ConfigError, load


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "env.yaml"
    path.write_text(text)
    return path


def test_the_local_environment_is_complete_as_it_is() -> None:
    environment = load(Path(__file__).parents[3] / "config" / "local.yaml")
    assert environment.environment == "local"
    assert environment.shards_path == environment.root_path / "shards"


@pytest.mark.parametrize(
    ("text", "field", "says"),
    [
        ("environment: local\n", "root", "missing"),
        ("environment: local\nroot: d\nvalidaton: {}\n", "validaton", "did you mean 'validation'"),
        ("environment: local\nroot: d\nvalidation: {max_row_dorp: 0.1}\n", "validation.max_row_dorp", "max_row_drop"),
        ("environment: local\nroot: d\nsplit: {train: 0.9}\n", "split", "must be 1"),
        ("environment: local\nroot: d\ngate: {confidence: 2}\n", "gate.confidence", "less than 1"),
        ("environment: Local Env\nroot: d\n", "environment", "pattern"),
        ("environment: local\nroot: d\nshards: {images_per_shard: many}\n", "shards.images_per_shard", "integer"),
        ("- a\n- b\n", "env.yaml", "mapping"),
        ("environment: [\n", "env.yaml", "not YAML"),
        ("", "env.yaml", "mapping"),
    ],
)
def test_a_mistake_names_file_field_and_remedy(tmp_path: Path, text: str, field: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, text))
    sentence = caught.value.sentence
    assert "env.yaml" in sentence
    assert field in sentence
    assert says in sentence
    assert "\n" not in sentence


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such environment file"):
        load(tmp_path / "nowhere.yaml")
