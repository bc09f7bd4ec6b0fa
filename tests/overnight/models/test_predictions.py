from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from overnight.models import predictions


def test_rows_come_sorted_by_key_whatever_their_order_in_the_file(write_predictions, tmp_path):
    labels = ["food", "flags", "food"]
    path = write_predictions(tmp_path / "p.parquet", labels, labels=labels, keys=["c", "a", "b"])
    found = predictions.read(path)
    assert found.keys.tolist() == ["a", "b", "c"]
    assert found.labels.tolist() == ["flags", "food", "food"]
    assert found.classes == ("animals", "flags", "food", "objects")
    assert found.confidence[0] == pytest.approx(0.8)
    assert (found.split, found.weights_sha256) == ("test", "0" * 64)


def damaged(path: Path, damage: str) -> None:
    table = pq.read_table(path)
    if damage == "missing":
        path.unlink()
    elif damage == "not parquet":
        path.write_bytes(b"PAR1 but not really")
    elif damage == "no metadata":
        pq.write_table(table.replace_schema_metadata({}), path)
    elif damage == "column lost":
        pq.write_table(table.drop_columns(["label"]), path)
    elif damage == "null":
        column = pa.array([None, *table["predicted"].to_pylist()[1:]], pa.string())
        index = table.column_names.index("predicted")
        pq.write_table(table.set_column(index, "predicted", column), path)
    elif damage == "key twice":
        pq.write_table(pa.concat_tables([table, table]), path)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("missing", "this predictions file is missing"),
        ("not parquet", "this is not a predictions file"),
        ("no metadata", "metadata lacks classes, weights_sha256, snapshot_sha256, split"),
        ("column lost", "columns are missing: label"),
        ("null", "column predicted has nulls"),
        ("key twice", "a key stands in it twice"),
    ],
)
def test_a_damaged_file_is_one_sentence(write_predictions, tmp_path, damage, sentence):
    path = write_predictions(tmp_path / "p.parquet", ["food"] * 3, labels=["food"] * 3)
    damaged(path, damage)
    with pytest.raises(predictions.PredictionsError, match=sentence):
        predictions.read(path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"snapshot_sha256": "1" * 64}, "evaluated on different data"),
        ({"split": "validation"}, "evaluated on different data"),
        ({"keys": ["a", "b", "x"]}, r"different images \(2 keys differ, such as c\)"),
        ({"labels": ["food", "food", "flags"]}, "disagree about labels or groups"),
        ({"group_size": 1}, "disagree about labels or groups"),
    ],
)
def test_other_data_is_not_compared(write_predictions, tmp_path, change, sentence):
    usual = {"labels": ["food"] * 3, "keys": ["a", "b", "c"]}
    one = predictions.read(write_predictions(tmp_path / "one.parquet", ["food"] * 3, **usual))
    other = predictions.read(write_predictions(tmp_path / "other.parquet", ["food"] * 3, **{**usual, **change}))
    with pytest.raises(predictions.PredictionsError, match=sentence):
        predictions.require_same_images([("the challenger", one), ("the champion", other)])


def test_an_empty_split_is_not_compared(write_predictions, tmp_path):
    empty = predictions.read(write_predictions(tmp_path / "p.parquet", [], labels=[]))
    with pytest.raises(predictions.PredictionsError, match="no image to compare on"):
        predictions.require_same_images([("the challenger", empty)])


def test_a_constant_answer_is_about_the_same_images(write_predictions, tmp_path):
    found = predictions.read(write_predictions(tmp_path / "p.parquet", ["food"] * 3, labels=["food", "flags", "food"]))
    constant = predictions.constant(found, "flags")
    predictions.require_same_images([("one", found), ("other", constant)])
    assert set(constant.predicted.tolist()) == {"flags"}
