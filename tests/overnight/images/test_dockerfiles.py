"""The Dockerfiles and what they run: pinned bases, locked wheels, one COPY at the end."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
IMAGES = ROOT / "images"
NAMES = ("steps", "trainer-cpu", "trainer-gpu")
STAGE = IMAGES / "stage"
REVISION = "0123456789abcdef0123456789abcdef01234567"
SAID = {"SOURCE": "https://github.com/acme/vision", "REVISION": REVISION, "OVERNIGHT_CPU": "baseline"}

every_image = pytest.mark.parametrize("name", NAMES)


def instructions(name: str) -> list[tuple[str, str]]:
    """Instruction and its words, comments left out, continued lines joined."""
    lines = [line for line in dockerfile(name).splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def stages(name: str) -> dict[str, list[tuple[str, str]]]:
    """Instructions by stage; those before the first FROM under ''."""
    found: dict[str, list[tuple[str, str]]] = {"": []}
    for instruction in instructions(name):
        if instruction[0] == "FROM":
            found[instruction[1].split(" AS ")[1]] = []
        list(found.values())[-1].append(instruction)
    return found


def dockerfile(name: str) -> str:
    return (IMAGES / name / "Dockerfile").read_text()


@every_image
def test_bases_are_arguments_without_a_default(name: str) -> None:
    assert stages(name)[""] == [("ARG", "BUILDER_IMAGE"), ("ARG", "RUNTIME_IMAGE")]
    bases = [words.split()[0] for word, words in instructions(name) if word == "FROM"]
    assert set(bases) == {"${BUILDER_IMAGE}", "${RUNTIME_IMAGE}"}


@every_image
def test_any_builder_can_build_it(name: str) -> None:
    assert not re.search(r"^#\s*syntax", dockerfile(name), re.MULTILINE | re.IGNORECASE)
    assert "--mount" not in dockerfile(name)


@every_image
def test_the_runtime_stage_is_one_copy_and_words(name: str) -> None:
    (_, *runtime) = stages(name)["runtime"]
    assert {word for word, _ in runtime} == {"ARG", "LABEL", "ENV", "COPY", "USER", "WORKDIR", "ENTRYPOINT"}
    assert [words for word, words in runtime if word == "COPY"] == ["--from=build /stage/ /"]
    assert ("USER", "10001:10001") in runtime


@every_image
def test_the_build_fetches_nothing(name: str) -> None:
    assert "PIP_NO_INDEX=1" in dockerfile(name)
    assert not [words for word, words in instructions(name) if word == "ADD" or re.search(r"apt|curl|wget", words)]
    for script in STAGE.iterdir():
        assert not re.search(r"\b(apt-get|curl|wget|git)\b", script.read_text()), script


@every_image
def test_what_may_not_be_guessed_has_no_default(name: str) -> None:
    needed = {"SOURCE", "REVISION", "OVERNIGHT_CPU"}
    for stage in ("build", "runtime"):
        assert needed <= {words for word, words in stages(name)[stage] if word == "ARG"}
    checked = next(words for word, words in stages(name)["build"] if word == "RUN")
    assert checked == "images/stage/check cpu"


@every_image
def test_labels_come_from_the_arguments(name: str) -> None:
    (labels,) = (words for word, words in stages(name)["runtime"] if word == "LABEL")
    assert f'org.opencontainers.image.title="{name}"' in labels
    assert 'org.opencontainers.image.source="${SOURCE}"' in labels
    assert 'org.opencontainers.image.revision="${REVISION}"' in labels
    assert 'dev.overnight.cpu="${OVERNIGHT_CPU}"' in labels


def test_the_extension_is_built_alike_for_training_and_for_steps() -> None:
    made = {
        name: [words for word, words in stages(name)["build"] if word == "RUN" and "package ./trainer" in words]
        for name in NAMES
    }
    assert len(made["steps"]) == 1
    assert made["steps"] == made["trainer-cpu"] == made["trainer-gpu"]
    tools = {line.split()[0] for line in _lock("trainer-cpu", "build.txt").splitlines() if "==" in line}
    assert tools <= {line.split()[0] for line in _lock("steps", "build.txt").splitlines() if "==" in line}


def test_the_image_for_gpus_is_that_for_cpus_and_the_plugin() -> None:
    ours = [line.replace("trainer-cpu", "trainer-gpu") for line in dockerfile("trainer-cpu").splitlines()[1:]]
    theirs = dockerfile("trainer-gpu").splitlines()
    # Its last label goes on.
    missing = [
        line.rstrip(' \\"') for line in ours if line.rstrip(' \\"') not in {text.rstrip(' \\"') for text in theirs}
    ]
    assert missing == []
    for kind in ("requirements.txt", "build.txt"):
        assert (IMAGES / "trainer-cpu" / kind).read_bytes() == (IMAGES / "trainer-gpu" / kind).read_bytes()


@every_image
@pytest.mark.parametrize("kind", ["requirements.txt", "build.txt"])
def test_every_wheel_is_locked_by_hash_at_the_locks_version(name: str, kind: str) -> None:
    locked = {line.strip() for line in (ROOT / "requirements/lock.txt").read_text().splitlines()}
    found = re.findall(
        r"^([a-z0-9._-]+==[^\s\\]+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
        _lock(name, kind),
        re.MULTILINE,
    )
    entries = [entry for entry, _ in found]
    assert entries
    assert entries == [line.split()[0] for line in _lock(name, kind).splitlines() if line[:1].isalnum()]
    assert set(entries) <= locked
    assert not {entry.partition("==")[0] for entry in entries} & {"torch", "pip", "triton"}


@pytest.mark.parametrize(("name", "project"), [("steps", "pyproject.toml"), ("trainer-cpu", "trainer/pyproject.toml")])
def test_nothing_that_the_package_needs_is_left_out(name: str, project: str) -> None:
    needs = tomllib.loads((ROOT / project).read_text())["project"]["dependencies"]
    names = {re.split(r"[\[<>=~]", line)[0].replace(".", "-") for line in needs} - {"torch"}
    assert names <= {line.partition("==")[0] for line in _lock(name, "requirements.txt").splitlines()}


def _lock(name: str, kind: str) -> str:
    return (IMAGES / name / kind).read_text()


@every_image
def test_the_context_holds_what_is_copied_and_else_nothing(name: str) -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert lines[0] == "*"
    allowed = [line[1:] for line in lines if line.startswith("!")]
    for word, words in instructions(name):
        if word == "COPY" and not words.startswith("--from"):
            for source in (text.rstrip("/") for text in words.split()[:-1]):
                assert any(f"{source}/".startswith(f"{path}/") or path.startswith(f"{source}/") for path in allowed), (
                    source
                )
    assert {path for path in allowed if not (ROOT / path).exists()} <= {"build/debs", "build/wheelhouse"}
    assert not {".git", "data", "infra", "tests", "."} & set(allowed)


@pytest.mark.parametrize("script", sorted(STAGE.iterdir()), ids=lambda path: path.name)
def test_scripts_of_the_build_stage_parse_and_stop_at_the_first_failure(script: Path) -> None:
    text = script.read_text()
    assert text.startswith("#!/bin/sh\n")
    assert "\nset -eu\n" in text
    assert os.access(script, os.X_OK)
    assert subprocess.run(["sh", "-n", script], capture_output=True, check=False).stderr == b""


def check(*arguments: str, **variables: str | None) -> subprocess.CompletedProcess[str]:
    said = {key: value for key, value in {**SAID, **variables}.items() if value is not None}
    environment = {"PATH": os.environ["PATH"], **said}
    return subprocess.run([STAGE / "check", *arguments], env=environment, text=True, capture_output=True, check=False)


@pytest.mark.parametrize("revision", [REVISION, "a" * 64])
@pytest.mark.parametrize("cpu", ["baseline", "x86-64-v3"])
def test_a_build_that_is_told_everything_goes_on(revision: str, cpu: str) -> None:
    assert check("cpu", REVISION=revision, OVERNIGHT_CPU=cpu).returncode == 0


def test_what_an_image_does_not_need_is_not_asked_for() -> None:
    assert check(OVERNIGHT_CPU=None).returncode == 0


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"SOURCE": None}, "SOURCE is missing; give --build-arg SOURCE=https://HOST/REPOSITORY"),
        ({"SOURCE": ""}, "SOURCE is missing; give --build-arg SOURCE=https://HOST/REPOSITORY"),
        ({"SOURCE": "git@github.com:a/b"}, "SOURCE is 'git@github.com:a/b'; give the repository's https address"),
        ({"REVISION": None}, "REVISION is missing; give --build-arg REVISION=COMMIT"),
        ({"REVISION": "main"}, "REVISION is 'main'; give the whole commit"),
        ({"REVISION": REVISION[:7]}, f"REVISION is '{REVISION[:7]}'; give the whole commit"),
        ({"REVISION": f"{REVISION}\n{REVISION}"}, f"REVISION is '{REVISION}\n{REVISION}'; give the whole commit"),
        (
            {"OVERNIGHT_CPU": None},
            "OVERNIGHT_CPU is missing; give --build-arg OVERNIGHT_CPU=baseline or x86-64-v3, for the machines that "
            "will run it",
        ),
        ({"OVERNIGHT_CPU": "native"}, "OVERNIGHT_CPU is 'native'; give baseline or x86-64-v3"),
    ],
)
def test_a_build_that_would_have_to_guess_is_refused(variables: dict[str, str | None], sentence: str) -> None:
    done = check("cpu", **variables)
    assert (done.returncode, done.stderr) == (1, f"image: {sentence}\n")


@pytest.mark.parametrize("path", sorted(IMAGES.glob("*/selfcheck.py")), ids=lambda path: path.parent.name)
def test_the_check_inside_an_image_is_python_that_parses(path: Path) -> None:
    compile(path.read_text(), path, "exec")
