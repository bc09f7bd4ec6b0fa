"""A run knows the image that it runs in, and goes on only where all that is said about it agrees."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from launchers import TWO, Start, addresses, ended
from trainer import image, launch
from trainer.__main__ import main
from trainer.command import fail_in_one_sentence
from trainer.errors import ConfigError, TrainerError
from trainer.files import canonical_json
from trainer.image import CONTENTS, Contents, Image, check_cpu, cpu_flags, describe, identify, read_contents
from trainer.run import Paths

DIGEST, OTHER = f"sha256:{'0a' * 32}", f"sha256:{'0b' * 32}"
REGISTRY = "us-central1-docker.pkg.dev/acme/images"
REFERENCE = f"{REGISTRY}/trainer-cpu@{DIGEST}"
INSIDE = Contents("trainer-cpu", "https://example.com/team/code", "c0ffee", "baseline")
JSON = {"format": "overnight.image/1", **asdict(INSIDE)}
WHOLE = Image(REFERENCE, DIGEST, **asdict(INSIDE))


@pytest.mark.parametrize(
    ("told", "asked", "contents", "expected"),
    [
        (None, None, None, None),
        (None, REFERENCE, None, None),
        (REFERENCE, None, None, Image(REFERENCE, DIGEST)),
        (REFERENCE, REFERENCE, None, Image(REFERENCE, DIGEST)),
        (REFERENCE, None, INSIDE, WHOLE),
        (REFERENCE, REFERENCE, INSIDE, WHOLE),
        (None, REFERENCE, INSIDE, WHOLE),
        (None, None, INSIDE, Image(**asdict(INSIDE))),
        (None, f"{REGISTRY}/trainer-cpu:v1", INSIDE, Image(f"{REGISTRY}/trainer-cpu:v1", None, **asdict(INSIDE))),
        # Copied to another registry, the same image has the same digest and the same name.
        (f"localhost:5000/trainer-cpu:v1@{DIGEST}", REFERENCE, INSIDE, None),
    ],
)
def test_what_is_said_about_an_image_adds_up(
    told: str | None, asked: str | None, contents: Contents | None, expected: Image | None
) -> None:
    found = identify(told, asked, contents)
    if told is not None and expected is None:
        assert found is not None
        assert (found.digest, found.reference) == (DIGEST, told)
    else:
        assert found == expected


@pytest.mark.parametrize(
    "told",
    [
        "",
        "trainer",
        f"{REGISTRY}/trainer-cpu",
        f"{REGISTRY}/trainer-cpu:v1",
        f"{REGISTRY}/trainer-cpu@sha256:0a",
        f"{REGISTRY}/trainer-cpu@{DIGEST}0",
        f"{REGISTRY}/trainer-cpu@{DIGEST.upper()}",
        f"{REGISTRY}/trainer-cpu@md5:{'0a' * 16}",
        f"https://{REFERENCE}",
        f"{REFERENCE} ",
        f"@{DIGEST}",
        DIGEST,
        "$(IMAGE)",
        "\x00",
    ],
)
def test_an_image_without_its_digest_is_refused(told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        identify(told, None, None)
    assert caught.value.sentence == (
        f"OVERNIGHT_IMAGE: {told!r} is no image with its digest; "
        "pin imageUri by @sha256:… and submit the job again, or unset the variable."
    )


@pytest.mark.parametrize("asked", [f"{REGISTRY}/trainer-cpu@{OTHER}", f"{REGISTRY}/trainer-cpu:v1", "?"])
@pytest.mark.parametrize("contents", [None, INSIDE])
def test_another_image_than_the_platform_was_asked_for_is_refused(asked: str, contents: Contents | None) -> None:
    with pytest.raises(ConfigError) as caught:
        identify(REFERENCE, asked, contents)
    assert caught.value.sentence == (
        f"OVERNIGHT_IMAGE: it says {DIGEST}, and CLUSTER_SPEC says that this container was started from {asked}; "
        "remove the variable from the spec: submission adds the image that the spec pins."
    )


@pytest.mark.parametrize(("told", "where"), [(True, "OVERNIGHT_IMAGE"), (False, "CLUSTER_SPEC")])
def test_the_name_of_another_image_than_this_is_refused(told: bool, where: str) -> None:
    reference = f"{REGISTRY}/trainer-gpu@{DIGEST}"
    with pytest.raises(ConfigError) as caught:
        identify(reference if told else None, reference, INSIDE)
    assert caught.value.sentence == (
        f"{where}: it names {REGISTRY}/trainer-gpu, and {CONTENTS} says that this is trainer-cpu; "
        "pin the digest that the build printed for trainer-gpu, or name trainer-cpu in the spec."
    )


def test_an_image_is_told_in_one_line() -> None:
    assert describe(None) is None
    assert describe(WHOLE) == f"image {DIGEST}: trainer-cpu of commit c0ffee"
    assert describe(Image(REFERENCE, DIGEST)) == f"image {DIGEST}: nothing inside says what it is"
    assert describe(Image(**asdict(INSIDE))) == (
        "image trainer-cpu: no job tells its digest (OVERNIGHT_IMAGE), so the record of this run cannot name it"
    )


def test_what_an_image_says_of_itself_is_read(tmp_path: Path) -> None:
    path = tmp_path / "image.json"
    assert read_contents(path) is None
    path.write_bytes(canonical_json(JSON))
    assert read_contents(path) == INSIDE


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "overnight.image/2"}, "format is 'overnight.image/2'"),
        ({"revision": None}, "revision is None; build the image again"),
        ({"name": ""}, "name is ''; build the image again"),
        ({"source": 3}, "source is 3; build the image again"),
        ({"cpu": "x86-64-v9"}, "cpu is 'x86-64-v9'; build the image again"),
    ],
)
def test_a_file_that_says_less_is_one_sentence(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "image.json"
    path.write_bytes(canonical_json({**JSON, **change}))
    with pytest.raises(TrainerError) as caught:
        read_contents(path)
    assert caught.value.sentence.startswith(f"{path}: {words}")


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"{", b"[]", b"null"])
def test_a_file_that_is_no_description_is_one_sentence(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "image.json"
    path.write_bytes(data)
    with pytest.raises(TrainerError, match=r"image\.json: "):
        read_contents(path)


NEHALEM = "flags\t\t: fpu cx16 lahf_lm pni popcnt sse4_1 sse4_2 ssse3"
HASWELL = f"{NEHALEM} abm avx avx2 bmi1 bmi2 f16c fma movbe"


def test_a_cpu_is_held_against_what_the_extension_needs() -> None:
    check_cpu("baseline", frozenset(NEHALEM.split()))
    check_cpu("x86-64-v3", frozenset(HASWELL.split()))
    check_cpu("x86-64-v3", frozenset())  # nothing is known
    with pytest.raises(ConfigError) as caught:
        check_cpu("x86-64-v3", frozenset(HASWELL.replace("avx2", "").replace("fma", "").split()))
    assert caught.value.sentence == (
        "CPU: the extension was compiled for x86-64-v3 and this machine lacks avx2, fma; "
        "take another machine type, or an image that is built for baseline."
    )


def test_features_are_those_of_the_first_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image.platform, "machine", lambda: "x86_64")
    assert cpu_flags(f"processor\t: 0\n{HASWELL}\n\nprocessor\t: 1\nflags\t: fpu\n") >= {"avx2", "movbe", "abm"}
    assert cpu_flags("processor\t: 0\n") == frozenset()
    monkeypatch.setattr(image.platform, "machine", lambda: "aarch64")
    assert cpu_flags(HASWELL) == frozenset()


def cluster_spec(asked: str, pool: str = "workerpool0") -> str:
    pools = [{"containerSpec": {"imageUri": asked}}, {"containerSpec": {"imageUri": f"{REGISTRY}/other@{OTHER}"}}]
    hosts = {"workerpool0": ["127.0.0.1:1"], "workerpool1": ["127.0.0.1:2"]}
    job = json.dumps({"workerPoolSpecs": pools})
    return json.dumps({"cluster": hosts, "task": {"type": pool, "index": 0}, "job": job})


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This process is in one of our images, and of no job; returns the file in which the image says so."""
    for name in [name for name in os.environ if name.startswith(("OVERNIGHT_", "AIP_", "CLUSTER_", "TRAINER_"))]:
        monkeypatch.delenv(name)
    path = tmp_path / "image.json"
    path.write_bytes(canonical_json(JSON))
    monkeypatch.setattr(image, "CONTENTS", path)
    return path


MISMATCHES = [
    ({"OVERNIGHT_IMAGE": "trainer:latest"}, "OVERNIGHT_IMAGE: 'trainer:latest' is no image with its digest"),
    (
        {"OVERNIGHT_IMAGE": REFERENCE, "CLUSTER_SPEC": cluster_spec(REFERENCE.replace("0a", "0c"))},
        "it says sha256:0a0a",
    ),
    ({"OVERNIGHT_IMAGE": REFERENCE, "CLUSTER_SPEC": cluster_spec(REFERENCE, "workerpool1")}, f"/other@{OTHER}; remove"),
    ({"OVERNIGHT_IMAGE": f"{REGISTRY}/trainer-gpu@{DIGEST}"}, "says that this is trainer-cpu"),
    ({"CLUSTER_SPEC": cluster_spec(f"{REGISTRY}/trainer-gpu@{DIGEST}")}, "says that this is trainer-cpu"),
]


@pytest.mark.parametrize(("variables", "words"), MISMATCHES)
def test_a_mismatch_stops_the_trainer_before_anything_is_read_or_written(
    variables: dict[str, str],
    words: str,
    inside: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    paths = [f"--{name}={tmp_path / 'none' / name}" for name in ("snapshot", "shards", "output")]
    assert fail_in_one_sentence(main, ["--config=none.toml", *paths]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(("variables", "words"), MISMATCHES)
def test_a_mismatch_stops_the_launcher_before_anything_is_started(
    variables: dict[str, str],
    words: str,
    inside: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert launch.main(["--", "touch", str(tmp_path / "started")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("trainer: ")
    assert words in line
    assert not (tmp_path / "started").exists()


def test_a_machine_that_lacks_what_the_image_needs_is_told_before_the_extension_loads(
    inside: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(image, "cpu_flags", lambda: frozenset({"fpu"}))
    assert launch.main(["--", "true"]) == 2
    assert "CPU: the extension was compiled for baseline and this machine lacks cx16" in capsys.readouterr().err


def arguments(dataset: Paths, output: Path, *settings: str) -> list[str]:
    paths = [f"--snapshot={dataset.snapshot}", f"--shards={dataset.shards}", f"--output={output}"]
    fast = ("batch_size=8", "model.arguments={width=4}", "checkpoint.every_seconds=0", *settings)
    return ["--preset=smoke", *paths, *(f"--set={field}" for field in fast)]


def train(dataset: Paths, output: Path) -> dict[str, Any]:
    """Train in this process; result.json."""
    assert main(arguments(dataset, output)) == 0
    return dict(json.loads((output / "result.json").read_text()))


def test_the_result_names_the_image_by_digest_and_commit(
    dataset: Paths, tmp_path: Path, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERNIGHT_IMAGE", REFERENCE)
    assert train(dataset, tmp_path / "run")["image"] == asdict(WHOLE)
    (manifest,) = (tmp_path / "run" / "checkpoints").glob("step-*/manifest.json")
    assert json.loads(manifest.read_text())["image_digest"] == DIGEST


def test_outside_an_image_the_result_names_none(dataset: Paths, tmp_path: Path, inside: Path) -> None:
    inside.unlink()
    assert train(dataset, tmp_path / "run")["image"] is None


def test_an_image_started_by_hand_trains_and_says_that_its_digest_is_not_known(
    dataset: Paths, tmp_path: Path, inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(dataset, tmp_path / "run")["image"] == asdict(Image(**asdict(INSIDE)))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("trainer: image trainer-cpu: no job tells its digest")


def unfinished(dataset: Paths, output: Path) -> None:
    train(dataset, output)
    (output / "result.json").unlink()


@pytest.mark.parametrize("now", [REFERENCE.replace("0a", "0b"), None])
def test_a_checkpoint_of_another_image_is_refused(
    now: str | None, dataset: Paths, tmp_path: Path, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERNIGHT_IMAGE", REFERENCE)
    unfinished(dataset, tmp_path / "run")
    monkeypatch.delenv("OVERNIGHT_IMAGE") if now is None else monkeypatch.setenv("OVERNIGHT_IMAGE", now)
    with pytest.raises(TrainerError) as caught:
        main(arguments(dataset, tmp_path / "run"))
    (checkpoint,) = (tmp_path / "run" / "checkpoints").glob("step-*")
    assert caught.value.sentence == (
        f"{checkpoint}: the checkpoint was made in another image "
        f"(image was {DIGEST} and is {'not known by its digest' if now is None else OTHER}); "
        "pin that image, or give another --output."
    )
    assert caught.value.exit_code == 2


def test_a_finished_run_of_another_image_is_not_this_one(
    dataset: Paths, tmp_path: Path, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERNIGHT_IMAGE", REFERENCE)
    train(dataset, tmp_path / "run")
    monkeypatch.setenv("OVERNIGHT_IMAGE", REFERENCE.replace("0a", "0b"))
    with pytest.raises(ConfigError, match=f"another run has ended in this folder .image was {DIGEST} and is {OTHER}."):
        main(arguments(dataset, tmp_path / "run"))


def test_a_checkpoint_that_names_no_image_is_taken_up(
    dataset: Paths,
    tmp_path: Path,
    inside: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    unfinished(dataset, tmp_path / "run")
    monkeypatch.setenv("OVERNIGHT_IMAGE", REFERENCE)
    capsys.readouterr()
    assert train(dataset, tmp_path / "run")["image"] == asdict(WHOLE)
    assert "continuing after step 11" in capsys.readouterr().out


def test_a_pool_with_another_image_stops_the_job(tmp_path: Path, start: Start) -> None:
    hosts, both = addresses(TWO), []
    for (pool, index), digest in zip(TWO, (DIGEST, OTHER), strict=True):
        spec = json.dumps({"cluster": hosts, "task": {"type": pool, "index": index}})
        reference = f"{REGISTRY}/trainer-cpu@{digest}"
        command = ["--", "touch", str(tmp_path / "started")]
        both += start([(pool, index)], command, CLUSTER_SPEC=spec, OVERNIGHT_IMAGE=reference)
    assert ended(both) == [2, 2]
    for process in both:
        assert process.stderr is not None
        assert process.stderr.read().splitlines()[-1] == (
            f"trainer: imageUri: node 1 runs in {OTHER}, node 0 in {DIGEST}; pin the same image in pools 0 and 1."
        )
    assert not (tmp_path / "started").exists()
