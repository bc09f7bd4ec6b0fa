import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from overnight.catalog.errors import ImportProblem
from overnight.catalog.found import find, with_groups


def pairs(finding):
    return sorted((image.source, image.label, image.group) for image in finding.images)


def test_the_first_folder_is_the_label_and_deeper_ones_are_only_places(place):
    place.put("cats/a.jpg")
    place.put("cats/2026/may/b.jpg")
    place.put("dogs/c.jpg")
    found = find(str(place.pictures), None)
    assert pairs(found) == [
        ("cats/2026/may/b.jpg", "cats", None),
        ("cats/a.jpg", "cats", None),
        ("dogs/c.jpg", "dogs", None),
    ]
    assert {image.uri for image in found.images} == {str(place.pictures / source) for source, _, _ in pairs(found)}


def test_hidden_files_and_droppings_are_no_images_and_files_in_no_class_are_named(place):
    for source in ("cats/a.jpg", "cats/.DS_Store", "cats/Thumbs.db", ".git/config", "notes.txt", "cats/x/desktop.ini"):
        place.put(source)
    found = find(str(place.pictures), None)
    assert [image.source for image in found.images] == ["cats/a.jpg"]
    assert found.left_out == ("notes.txt",)


def test_links_to_folders_are_followed_and_a_loop_ends(place):
    place.put("cats/a.jpg")
    place.put("../elsewhere/d.jpg")
    (place.pictures / "dogs").symlink_to(place.base / "elsewhere")
    (place.pictures / "cats" / "up").symlink_to(place.pictures)
    assert [source for source, _, _ in pairs(find(str(place.pictures), None))] == ["cats/a.jpg", "dogs/d.jpg"]


def test_a_table_gives_labels_and_groups(place):
    table = place.table("Path, LABEL ,group\nx/a.jpg,cat,g1\n./x/b.jpg,dog,\n\nx/../x/c.jpg,dog,g1\n")
    found = find(str(table), None)
    assert pairs(found) == [("x/a.jpg", "cat", "g1"), ("x/b.jpg", "dog", None), ("x/c.jpg", "dog", "g1")]
    assert {image.uri for image in found.images} == {
        str(place.pictures / "x" / name) for name in ("a.jpg", "b.jpg", "c.jpg")
    }


def test_a_byte_order_mark_and_quotes_are_understood(place):
    table = place.table('\ufeffpath,label\n"a, b.jpg","cat ""tom"""\n')
    assert pairs(find(str(table), None)) == [("a, b.jpg", 'cat "tom"', None)]


def test_a_parquet_table_says_the_same(place):
    path = place.table("", "images.parquet")
    pq.write_table(pa.table({"path": ["a.jpg", "b.jpg"], "label": ["1", "2"], "group_id": ["g", None]}), path)
    assert pairs(find(str(path), None)) == [("a.jpg", "1", "g"), ("b.jpg", "2", None)]


def test_numbers_as_labels_become_words(place):
    path = place.table("", "images.parquet")
    pq.write_table(pa.table({"path": ["a.jpg", "b.jpg"], "label": [1, 2]}), path)
    assert [label for _, label, _ in pairs(find(str(path), None))] == ["1", "2"]


def test_absolute_paths_and_another_folder_give_the_same_sources(place):
    (place.base / "lists").mkdir()
    table = place.base / "lists" / "week.csv"
    table.write_text(f"path,label\n{place.pictures}/x/a.jpg,cat\nx/b.jpg,dog\n")
    found = find(str(table), str(place.pictures))
    assert [source for source, _, _ in pairs(found)] == ["x/a.jpg", "x/b.jpg"]


def test_the_same_row_twice_is_one_image(place):
    assert len(find(str(place.table("path,label\na.jpg,cat\n./a.jpg,cat\n")), None).images) == 1


def test_objects_of_a_store_are_found_like_files(place):
    import fsspec

    store = fsspec.filesystem("memory")
    base = f"/images-{os.getpid()}"
    for source in ("cats/a.jpg", "dogs/x/b.jpg", "readme.txt", "cats/.hidden"):
        store.pipe(f"{base}/{source}", b"bytes")
    found = find(f"memory:/{base}", None)
    assert pairs(found) == [("cats/a.jpg", "cats", None), ("dogs/x/b.jpg", "dogs", None)]
    assert found.images[0].uri == f"memory:/{base}/cats/a.jpg"
    assert found.left_out == ("readme.txt",)


@pytest.mark.parametrize(
    ("pattern", "groups"),
    [(r"/(\w+)-\d", ["tom", "tom", None]), (r"tom", ["tom", "tom", None]), (r"(x)?/", [None, None, None])],
)
def test_a_pattern_finds_the_group_in_the_path(place, pattern, groups):
    for source in ("cats/tom-1.jpg", "cats/tom-2.jpg", "dogs/rex.jpg"):
        place.put(source)
    assert [group for _, _, group in pairs(with_groups(find(str(place.pictures), None), pattern))] == groups


def test_a_bad_pattern_is_one_sentence(place):
    place.put("cats/a.jpg")
    with pytest.raises(ImportProblem, match=r"--group-pattern: not a regular expression"):
        with_groups(find(str(place.pictures), None), "(")


TABLES = {
    "no rows": ("path,label\n", "this table has no rows"),
    "nothing": ("", r"column 'path' is missing \(found: none\)"),
    "no label column": ("path,class\na.jpg,cat\n", r"column 'label' is missing \(found: path, class\)"),
    "no label": ("path,label\na.jpg,cat\nb.jpg,\n", r"images\.csv, row 3: label is empty"),
    "no path": ("path,label\n,cat\n", r"row 2: path is empty"),
    "two labels": (
        "path,label\na.jpg,cat\nb.jpg,cat\na.jpg,dog\n",
        r"row 4: a\.jpg is labelled 'dog' here and 'cat' in row 2; keep one of the rows",
    ),
    "a comma too many": ("path,label\na,b.jpg,cat\n", "row 2: 3 fields where the header has 2; put quotes"),
    "an open quote": ('path,label\n"a.jpg,cat\n', "not a CSV in UTF-8"),
    "outside the folder": ("path,label\n../a.jpg,cat\n", r"\.\./a\.jpg is not inside .*--images"),
    "elsewhere": ("path,label\n/elsewhere/a.jpg,cat\n", r"/elsewhere/a\.jpg is not inside .*--images"),
}


@pytest.mark.parametrize(("text", "sentence"), TABLES.values(), ids=TABLES.keys())
def test_a_wrong_table_is_one_sentence_with_the_row(place, text, sentence):
    with pytest.raises(ImportProblem, match=sentence):
        find(str(place.table(text)), None)


def test_a_table_that_is_not_text_or_not_parquet_is_one_sentence(place):
    place.table("")
    (place.pictures / "a.csv").write_bytes(b"path,label\n\xff\xfe,cat\n")
    (place.pictures / "a.parquet").write_bytes(b"PAR1 no")
    for name, sentence in (("a.csv", "not a CSV in UTF-8"), ("a.parquet", "cannot be read")):
        with pytest.raises(ImportProblem, match=sentence):
            find(str(place.pictures / name), None)
