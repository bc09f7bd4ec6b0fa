"""What is read from an image archive, in the forms that tools write, whole and broken."""

import json
from pathlib import Path

import pytest

from image_archives import BASE, OURS, File, Image, folder, layer, link, write
from overnight.images.contents import Contents, read_contents
from overnight.images.errors import ImageError

AGAIN = "write the archive again with docker save or podman save"
SAVED = "give what docker save or podman save wrote"


def refusal(path: Path) -> str:
    with pytest.raises(ImageError) as error:
        read_contents(path)
    return error.value.sentence.removeprefix(f"{path}: ")


@pytest.fixture(params=["docker", "oci", "nested"])
def contents(request, tmp_path) -> Contents:
    path = tmp_path / "image.tar"
    image = Image()
    return read_contents(
        image.docker(path) if request.param == "docker" else image.oci(path, nested=request.param == "nested")
    )


def test_every_form_gives_the_same_layers(contents: Contents) -> None:
    base, ours = contents.layers
    assert (base.files, ours.files) == (1, 3)
    assert (base.size, ours.size) == (len(layer(*BASE)), len(layer(*OURS)))
    assert contents.size == base.size + ours.size


def test_the_layer_that_describes_the_image_is_ours(contents: Contents) -> None:
    assert contents.own == 1
    assert json.loads(contents.layers[1].description or b"")["name"] == "trainer-cpu"


def test_a_file_is_told_by_its_metadata(contents: Contents) -> None:
    python = contents.layers[0].entries[-1]
    assert (python.path, python.kind, python.size, python.mode, python.mtime) == (
        *("usr/bin/python3", "file", 3000, 0o755, 99),
    )
    assert [entry.pyc_flags for entry in contents.layers[1].entries] == [None] * 4 + [1]


def test_folders_are_ranked_by_what_they_take(contents: Contents) -> None:
    assert contents.layers[1].largest(count=1) == [("opt/app/trainer", 516)]


def test_the_configuration_is_there(contents: Contents) -> None:
    assert contents.run("User") == "10001:10001"
    assert contents.run("Volumes") is None


def test_whiteouts_take_files_and_whole_folders_away(tmp_path) -> None:
    lower = layer(File("usr/bin/gcc"), File("etc/a"), File("etc/sub/b"), File("var/log/c"), File("var/d"))
    upper = layer(File("usr/bin/.wh.gcc"), File("etc/.wh.sub"), File("var/.wh..wh..opq"), File("var/e"), *OURS)
    contents = read_contents(Image(layers=[lower, upper]).docker(tmp_path / "image.tar"))
    assert set(contents.visible()) == {"etc/a", "var/e", *(file.path for file in OURS)}


def test_names_are_the_same_with_and_without_dots_and_slashes(tmp_path) -> None:
    dotted = layer(folder("./"), File("./etc/a"), File("/etc/b"), link("./etc/c", "a"))
    contents = read_contents(Image(layers=[dotted]).docker(tmp_path / "image.tar"))
    assert list(contents.visible()) == ["etc/a", "etc/b", "etc/c"]


def test_a_hard_link_is_a_file_without_a_size_of_its_own(tmp_path) -> None:
    hard = File("b", kind=b"1", target="a")
    (found,) = read_contents(Image(layers=[layer(File("a", b"xyz"), hard)]).docker(tmp_path / "image.tar")).layers
    assert [(entry.path, entry.kind, entry.size) for entry in found.entries] == [("a", "file", 3), ("b", "file", 0)]


def test_a_changed_byte_in_a_layer_is_found(tmp_path) -> None:
    path = Image().docker(tmp_path / "image.tar")
    data = path.read_bytes()
    path.write_bytes(data.replace(b"x" * 3000, b"x" * 2999 + b"y"))
    assert refusal(path).startswith("a layer has the digest sha256:")
    assert refusal(path).endswith("; the archive is damaged; write it again with docker save or podman save.")


@pytest.mark.parametrize("form", ["docker", "oci"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9])
def test_an_archive_that_ends_too_early_is_one_sentence(tmp_path, form, share) -> None:
    path = getattr(Image(), form)(tmp_path / "image.tar")
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data.rstrip(b"\0")) * share)])
    assert "\n" not in refusal(path)


@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"hello", b"\xff" * 5000, b"{}", b"\x1f\x8b" + b"\0" * 600])
def test_what_is_no_archive_is_refused(tmp_path, data) -> None:
    path = tmp_path / "image.tar"
    path.write_bytes(data)
    assert refusal(path) == f"this is no image archive; {SAVED}."


def test_a_tar_file_without_an_image_is_refused(tmp_path) -> None:
    assert refusal(write(tmp_path / "x.tar", {"a": b"b"})) == f"this tar file holds no image; {SAVED}."


def test_several_images_in_one_archive_are_refused(tmp_path) -> None:
    path = Image().docker(tmp_path / "image.tar", count=2)
    assert refusal(path) == "the archive holds 2 images; save one image into one archive."


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"manifest.json": b"{"}, "manifest.json is not JSON (Expecting property name enclosed in double quotes: "),
        ({"manifest.json": b"[" * 90_000}, "manifest.json is not JSON ("),
        ({"manifest.json": b"[]"}, "manifest.json lists no image"),
        ({"manifest.json": b"{}"}, "manifest.json lists no image"),
        ({"manifest.json": b"[7]"}, "manifest.json names no configuration or no layers"),
        ({"manifest.json": b'[{"Config": "c", "Layers": [1]}]'}, "manifest.json names no configuration or no layers"),
        ({"manifest.json": b'[{"Config": "c", "Layers": []}]'}, "c is missing"),
        ({"manifest.json": b'[{"Config": "c", "Layers": []}]', "c": b"[]"}, "c is no JSON object"),
        ({"manifest.json": b'[{"Config": "c", "Layers": ["l"]}]', "c": b"{}"}, "the configuration does not name the"),
        (
            {"manifest.json": b'[{"Config": "c", "Layers": ["l"]}]', "c": b'{"rootfs": {"diff_ids": ["sha256:0"]}}'},
            "l is missing",
        ),
        ({"manifest.json": b" " * (9 << 20)}, "manifest.json is longer than 8 MiB"),
        ({"index.json": b"{}"}, "manifests is no list"),
        ({"index.json": b'{"manifests": []}'}, "the index lists no image"),
        ({"index.json": b'{"manifests": [{}]}'}, "a descriptor has no digest"),
        ({"index.json": b'{"manifests": [{"digest": "sha256:0"}]}'}, "blobs/sha256/0 is missing"),
    ],
)
def test_a_malformed_archive_is_told_by_its_first_mistake(tmp_path, files, problem) -> None:
    sentence = refusal(write(tmp_path / "image.tar", files))
    assert sentence.startswith(problem)
    assert sentence.endswith(f"; {AGAIN}.")


def test_a_layer_in_zstd_is_refused_with_a_way_out(tmp_path) -> None:
    path = Image(layers=[b"\x28\xb5\x2f\xfd" + bytes(600)]).docker(tmp_path / "image.tar")
    assert refusal(path) == "a layer is compressed with zstd; save it as a docker-archive."


def test_a_layer_that_is_no_tar_file_is_refused(tmp_path) -> None:
    path = Image(layers=[b"no tar file at all" * 100]).docker(tmp_path / "image.tar")
    assert refusal(path).startswith("it cannot be read to its end (")
