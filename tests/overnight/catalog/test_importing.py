import functools
import os

import pytest

from overnight.catalog.catalogue import read
from overnight.catalog.errors import ImportProblem
from overnight.catalog.found import find
from overnight.catalog.importing import merge_images, replace_images
from overnight.files import FolderInUse, locked
from overnight.labels.duckdb_source import DuckDBLabelSource


@pytest.fixture
def bring_in(place):
    """Import the place's pictures, or a table, in this process."""

    def run(path=None, *, merge=merge_images, overwrite=False):
        source = DuckDBLabelSource(place.base / "data" / "labels.duckdb", "labels")
        enter = source.create_or_overwrite if overwrite else source.create_or_merge
        catalogue = place.base / "data" / "catalog" / "images.parquet"
        return merge(find(str(path or place.pictures), None), catalogue, source, enter, lambda: None)

    return run


def two_classes(place):
    place.put("cats/a.jpg")
    place.put("dogs/b.jpg")


def test_images_and_labels_arrive_together(place, bring_in):
    two_classes(place)
    imported = bring_in()
    assert (imported.added, imported.changed, imported.unchanged, imported.catalogued) == (2, 0, 0, 2)
    assert imported.classes == {"cats": 1, "dogs": 1}
    assert place.labels() == [("cats/a", "cats", None), ("dogs/b", "dogs", None)]
    image = place.catalogue()["cats/a"]
    assert (image.uri, image.source, image.size) == (str(place.pictures / "cats" / "a.jpg"), "cats/a.jpg", 10)


def test_the_same_folder_makes_the_same_catalogue_bytes(place, bring_in):
    two_classes(place)
    bring_in()
    path = place.base / "data" / "catalog" / "images.parquet"
    before = path.read_bytes()
    assert bring_in().unchanged == 2
    assert path.read_bytes() == before


def test_an_unchanged_file_is_not_read_again_and_a_changed_one_is(place, bring_in):
    two_classes(place)
    bring_in()
    quiet = place.pictures / "cats" / "a.jpg"
    times = quiet.stat()
    quiet.write_bytes(b"other byte"[: times.st_size])
    os.utime(quiet, ns=(times.st_atime_ns, times.st_mtime_ns))  # as if nobody had touched it
    place.put("dogs/b.jpg", b"new bytes")
    imported = bring_in()
    assert (imported.unchanged, imported.changed) == (1, 1)


def test_images_that_vanished_stay_until_they_are_pruned(place, bring_in):
    two_classes(place)
    place.put("dogs/c.jpg")
    bring_in()
    (place.pictures / "dogs" / "c.jpg").unlink()
    assert bring_in().catalogued == 3
    pruned = bring_in(merge=replace_images)
    assert (pruned.removed, pruned.catalogued) == (1, 2)
    assert "dogs/c" not in place.catalogue()
    assert len(place.labels()) == 3


def test_a_folder_that_moved_is_the_same_images(place, bring_in):
    two_classes(place)
    bring_in()
    place.pictures.rename(place.base / "moved")
    imported = bring_in(place.base / "moved")
    assert (imported.unchanged, imported.catalogued) == (2, 2)
    assert place.catalogue()["cats/a"].uri == str(place.base / "moved" / "cats" / "a.jpg")


def test_labels_that_were_edited_stay_unless_told_otherwise(place, bring_in):
    two_classes(place)
    bring_in()
    table = place.table("path,label\ncats/a.jpg,tiger\ndogs/b.jpg,dogs\n")
    assert (bring_in(table).labels.kept, place.labels()[0][1]) == (2, "cats")
    assert (bring_in(table, overwrite=True).labels.updated, place.labels()[0][1]) == (1, "tiger")


def test_one_class_is_too_few_at_first_and_enough_later(place, bring_in):
    place.put("cats/a.jpg")
    with pytest.raises(ImportProblem, match="there is only one class, 'cats'"):
        bring_in()
    assert not (place.base / "data" / "labels.duckdb").exists()
    place.put("dogs/b.jpg")
    bring_in()
    assert bring_in(place.table("path,label\ncats/a.jpg,cats\n")).catalogued == 2


def test_a_missing_file_stops_the_import_with_nothing_changed(place, bring_in):
    two_classes(place)
    table = place.table("path,label\ncats/a.jpg,cats\ndogs/none.jpg,dogs\n")
    with pytest.raises(ImportProblem, match=r"dogs/none\.jpg: this image cannot be read \(no such file or directory\)"):
        bring_in(table)
    assert place.catalogue() == {}
    assert not (place.base / "data" / "labels.duckdb").exists()


@pytest.mark.parametrize("make", [os.mkfifo, functools.partial(os.symlink, "nowhere")], ids=["pipe", "dangling link"])
def test_what_is_no_file_is_named(place, bring_in, make):
    two_classes(place)
    make(place.pictures / "dogs" / "odd.jpg")
    with pytest.raises(ImportProblem, match=r"dogs/odd\.jpg: this"):
        bring_in()


def test_labels_that_cannot_be_entered_leave_the_catalogue_as_it_was(place, bring_in):
    two_classes(place)
    (place.base / "data").mkdir()
    (place.base / "data" / "labels.duckdb").write_bytes(b"this is no database at all" * 500)
    with pytest.raises(Exception, match="not a DuckDB database"):
        bring_in()
    assert place.catalogue() == {}
    assert [p.name for p in (place.base / "data" / "catalog").iterdir()] == [".lock"]


def test_two_imports_at_once_are_refused(place, bring_in):
    two_classes(place)
    with locked(place.base / "data" / "catalog", "import"), pytest.raises(FolderInUse, match="another import"):
        bring_in()


def test_a_damaged_catalogue_is_one_sentence(place, bring_in):
    two_classes(place)
    bring_in()
    path = place.base / "data" / "catalog" / "images.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ImportProblem, match=r"images\.parquet: the image catalogue cannot be read"):
        read(path)


def test_objects_of_a_store_are_catalogued(place, bring_in):
    import fsspec

    store = fsspec.filesystem("memory")
    base = f"/catalogue-{os.getpid()}"
    for source in ("cats/a.jpg", "dogs/b.jpg"):
        store.pipe(f"{base}/{source}", source.encode())
    assert bring_in(f"memory:/{base}").added == 2
    assert bring_in(f"memory:/{base}").unchanged == 2
    assert place.catalogue()["cats/a"].uri == f"memory:/{base}/cats/a.jpg"
