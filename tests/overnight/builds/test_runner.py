"""What becomes of build files: small ones, run as processes."""

import base64
import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from google.cloud.devtools import cloudbuild_v1
from google.protobuf import json_format

from local_builds import BUILD_ID, GIVEN, House, recorded
from overnight.builds.errors import BuildError
from overnight.builds.result import Pushed

NAME = "$_BUILDER_IMAGE"


def steps(*written: str) -> str:
    """A build file of steps, each a flow mapping without its name."""
    return "steps:\n" + "".join(f"- {{name: {NAME}, {text}}}\n" for text in written)


def bash(script: str, **fields: Any) -> str:
    return ", ".join(f"{key}: {json.dumps(value)}" for key, value in {**fields, "script": script}.items())


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def record(house: House) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((house.folder / "builds" / f"{BUILD_ID}.json").read_text())
    return content


def test_steps_run_in_their_order_in_one_workspace(house: House) -> None:
    result = house.run(steps(bash("echo a > file", id="first"), bash("cat file; echo b", id="second")))
    assert result.succeeded
    assert house.log.lines == [
        f'starting build "{BUILD_ID}"',
        "BUILD",
        'Starting Step #0 - "first"',
        'Finished Step #0 - "first"',
        'Starting Step #1 - "second"',
        'Step #1 - "second": a',
        'Step #1 - "second": b',
        'Finished Step #1 - "second"',
        "DONE",
    ]


def test_each_step_has_a_log_without_the_prefix(house: House) -> None:
    house.run(steps(bash("echo one; echo two >&2", id="first"), bash("printf three")))
    logs = house.folder / "builds" / BUILD_ID
    assert (logs / "first.log").read_text() == "one\ntwo\n"
    assert (logs / "step-1.log").read_text() == "three\n"


def test_an_id_that_is_no_file_name_does_not_name_the_log(house: House) -> None:
    house.run(steps(bash("echo x", id="../../x")))
    assert [path.name for path in (house.folder / "builds" / BUILD_ID).iterdir()] == ["step-0.log"]


def test_a_failing_step_stops_the_build(house: House) -> None:
    result = house.run(
        steps(bash("exit 3", id="test"), bash("touch never", id="after")) + "images: [$_REPOSITORY/a:1]\n"
    )
    log = house.folder / "builds" / BUILD_ID / "test.log"
    assert (result.status, result.images) == ("FAILURE", ())
    assert result.detail == f'build step 0 "test" failed: step exited with non-zero status: 3 (log: {log})'
    assert not (house.workspace / "never").exists()
    assert house.pushed == []
    content = record(house)
    assert [step["status"] for step in content["steps"]] == ["FAILURE", "QUEUED"]
    assert content["steps"][0]["exitCode"] == 3
    assert content["failureInfo"] == {"type": "USER_BUILD_STEP", "detail": result.detail}


@pytest.mark.parametrize(
    ("fields", "code", "status"),
    [
        ({"allowFailure": True}, 1, "SUCCESS"),
        ({"allowFailure": False}, 1, "FAILURE"),
        ({"allowExitCodes": [4, 5]}, 5, "SUCCESS"),
        ({"allowExitCodes": [4, 5]}, 6, "FAILURE"),
        ({"allowExitCodes": [4], "allowFailure": True}, 6, "FAILURE"),
    ],
)
def test_a_file_says_which_failures_it_allows(house: House, fields: dict[str, Any], code: int, status: str) -> None:
    result = house.run(steps(bash(f"exit {code}", id="a", **fields), bash("echo after")))
    assert result.status == status
    assert ("after" in house.said) == (status == "SUCCESS")
    allowed = [f'build step 0 "a" ended with code {code}, which the file allows']
    assert list(result.warnings) == (allowed if status == "SUCCESS" else [])
    assert record(house)["steps"][0]["status"] == "FAILURE"


def test_a_step_ends_with_its_timeout_and_so_does_what_it_started(house: House) -> None:
    script = "sleep 60 & echo $! > child; sleep 60"
    began = time.monotonic()
    result = house.run(steps(bash(script, id="slow", timeout="1s"), bash("echo after")))
    assert time.monotonic() - began < 8
    assert result.detail == 'build step 0 "slow" failed: it did not end within its 1.0 s'
    assert result.status == "FAILURE"
    assert record(house)["steps"][0]["status"] == "TIMEOUT"
    assert not alive(int((house.workspace / "child").read_text()))


def test_the_build_ends_with_its_own_timeout(house: House) -> None:
    result = house.run(steps(bash("sleep 60", id="slow", timeout="50s")) + "timeout: 1s\n")
    assert (result.status, result.detail) == (
        "TIMEOUT",
        'build step 0 "slow" was running when the build\'s 1.0 s were over',
    )


def test_what_a_step_leaves_running_ends_with_it(house: House) -> None:
    assert house.run(steps(bash("sleep 60 & echo $! > child"))).succeeded
    assert not alive(int((house.workspace / "child").read_text()))


def test_ctrl_c_ends_the_step_and_leaves_a_whole_result(house: House) -> None:
    def interrupt() -> None:
        if (house.workspace / "child").exists():
            os.kill(os.getpid(), signal.SIGINT)

    house.log.tick = interrupt  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        house.run(steps(bash("sleep 60 & echo $! > part; mv part child; wait", id="long"), bash("echo after")))
    content = record(house)
    assert (content["status"], content["statusDetail"]) == ("CANCELLED", "it was cancelled")
    assert [step["status"] for step in content["steps"]] == ["CANCELLED", "QUEUED"]
    assert not alive(int((house.workspace / "child").read_text()))
    assert house.tidied == 1


def test_the_environment_is_clean(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.com")
    house.run(steps(bash("env")))
    seen = dict(line.split("=", 1) for line in house.said if "=" in line)
    assert {"AWS_SECRET_ACCESS_KEY", "PYTHONPATH"} & set(seen) == set()
    assert seen["HTTPS_PROXY"] == "http://proxy.example.com"
    assert seen["HOME"] == str(house.place.home)


def test_env_of_the_step_comes_after_that_of_the_build(house: House) -> None:
    text = steps('entrypoint: sh, args: [-c, "echo $$A $$B $$C"], env: [B=step, "C=${_REPOSITORY}"]')
    house.run(text + "options: {env: [A=build, B=build]}\n")
    assert house.said == ["build step localhost:5005/images"]


@pytest.mark.parametrize(
    ("options", "field", "seen"),
    [
        ("true", "", "c" * 40),
        ("false", "", ""),
        ("true", "automapSubstitutions: false, ", ""),
        ("false", "automapSubstitutions: true, ", "c" * 40),
    ],
)
def test_scripts_see_substitutions_where_they_are_mapped(house: House, options: str, field: str, seen: str) -> None:
    text = steps(field + bash('echo "<$COMMIT_SHA>"')) + f"options: {{automapSubstitutions: {options}}}\n"
    house.run(text)
    assert house.said == [f"<{seen}>"]


def test_substitutions_are_filled_in_everywhere_but_in_scripts(house: House) -> None:
    text = steps('entrypoint: sh, args: [-c, "echo $_TAG ${_TAG} $$HOME-less"], dir: "$_DIR"', bash("echo '${_TAG}'"))
    house.run(text + "substitutions: {_TAG: 'v-${COMMIT_SHA}', _DIR: sub}\noptions: {dynamicSubstitutions: true}\n")
    tag = "v-" + "c" * 40
    assert house.said == [f"{tag} {tag} {house.place.home}-less", "${_TAG}"]
    assert (house.workspace / "sub").is_dir()


def test_the_trigger_s_value_comes_before_the_file_s(house: House) -> None:
    house.run(steps('entrypoint: echo, args: ["$_X"]') + "substitutions: {_X: own}\n", {"_X": "given"})
    assert house.said == ["given"]


def test_a_script_without_shebang_is_run_by_sh_and_one_with_it_by_what_it_names(house: House) -> None:
    house.run(steps(bash("false; echo $0 | grep -c scripts"), bash("#!/usr/bin/env python3\nprint(6 * 7)")))
    assert house.said == ["1", "42"]


def test_python_is_the_one_that_runs_overnight(house: House) -> None:
    house.run(steps("entrypoint: python3, args: [-c, 'import overnight; print(overnight.__name__)']"))
    assert house.said == ["overnight"]


def test_paths_of_the_service_are_put_where_they_are_here(house: House) -> None:
    (house.workspace).mkdir(parents=True)
    (house.workspace / "in").write_text("content\n")
    text = steps(
        "entrypoint: cat, args: [/workspace/in]",
        "entrypoint: echo, args: ['/workspaces/x', 'a/workspace', 'file:/workspace/b']",
        "entrypoint: pwd, args: [], dir: /workspace/sub",
        bash("cat /workspace/in"),
    )
    house.run(text)
    workspace = house.workspace
    assert house.said == ["content", f"/workspaces/x a/workspace file:{workspace}/b", f"{workspace}/sub", "content"]


def test_steps_share_volumes_by_name(house: House) -> None:
    volume = "volumes: [{name: cache, path: /var/cache/kit}]"
    result = house.run(
        steps(f"{volume}, {bash('echo x > /var/cache/kit/f')}", f"{volume}, {bash('cat /var/cache/kit/f')}")
    )
    assert (result.status, house.said) == ("SUCCESS", ["x"])
    assert not Path("/var/cache/kit").exists()


def test_what_steps_write_to_builder_output_is_in_the_result(house: House) -> None:
    house.run(
        steps(
            bash("true"),
            bash('echo \'{"a": 1}\' > "$BUILDER_OUTPUT/output"'),
            bash("head -c 70000 /dev/zero > $BUILDER_OUTPUT/output"),
        )
    )
    kept = [base64.b64decode(text) for text in record(house)["results"]["buildStepOutputs"]]
    assert kept == [b"", b'{"a": 1}\n', bytes(50 * 1024)]


def test_images_are_pushed_and_their_digests_kept(house: House) -> None:
    result = house.run(steps(bash("true")) + "images: ['$_REPOSITORY/a:$COMMIT_SHA', '$_REPOSITORY/b:$COMMIT_SHA']\n")
    names = [f"localhost:5005/images/{name}:{'c' * 40}" for name in "ab"]
    assert house.pushed == names
    assert result.images == tuple(Pushed(name, f"sha256:{n:064x}") for n, name in enumerate(names, 1))
    assert [image["name"] for image in record(house)["results"]["images"]] == names
    assert house.attested == []


def test_a_verified_build_is_attested(house: House) -> None:
    text = steps(bash("true")) + "images: ['$_REPOSITORY/a:1']\noptions: {requestedVerifyOption: VERIFIED}\n"
    result = house.run(text)
    assert house.attested == list(result.images)
    assert len(house.attested) == 1


def test_without_an_attestation_a_verified_build_fails(house: House) -> None:
    def refuse(image: Pushed) -> str | None:
        raise BuildError("the key is gone", where="key.pem")

    text = steps(bash("true")) + "images: ['$_REPOSITORY/a:1']\noptions: {requestedVerifyOption: VERIFIED}\n"
    result = house.run(text, attest=refuse)
    said = "no provenance could be made for localhost:5005/images/a:1: key.pem: the key is gone."
    assert (result.status, result.detail) == ("FAILURE", said)


def test_why_an_image_was_not_pushed_is_in_the_result(house: House) -> None:
    def refuse(image: str, line: Any) -> str:
        raise BuildError("no step built this image", where=image)

    result = house.run(steps(bash("true")) + "images: ['$_REPOSITORY/a:1']\n", push=refuse)
    assert record(house)["failureInfo"] == {
        "type": "PUSH_FAILED",
        "detail": "localhost:5005/images/a:1: no step built this image.",
    }
    assert result.status == "FAILURE"


def test_the_result_is_cloud_build_s_own_message(house: House) -> None:
    house.run(steps(bash("true", id="a")) + "timeout: 60s\n")
    message = json_format.ParseDict(record(house), cloudbuild_v1.Build.pb(cloudbuild_v1.Build()))
    build = cloudbuild_v1.Build.wrap(message)
    assert build.status == cloudbuild_v1.Build.Status.SUCCESS
    assert build.name == f"projects/local/locations/local/builds/{BUILD_ID}"
    assert build.source_provenance.resolved_git_source.revision == "c" * 40
    assert dict(build.substitutions) == GIVEN
    assert build.steps[0].timing.end_time > build.steps[0].timing.start_time
    assert build.finish_time > build.create_time


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            steps(bash("true"), bash("true", id="deploy", secretEnv=["TOKEN", "KEY"])),
            "step 1 (deploy): secretEnv asks for KEY, TOKEN, and there is no Secret Manager here; "
            "run this build in Google Cloud, or leave the step out.",
        ),
        (
            steps(bash("true"), "id: lint, args: [a]"),
            "step 1 (lint): it has neither entrypoint nor script, and a local build does not know the image's own "
            "entrypoint; give the step an entrypoint, such as bash or docker.",
        ),
    ],
)
def test_what_cannot_be_run_here_is_said_before_anything_runs(house: House, text: str, sentence: str) -> None:
    with pytest.raises(BuildError) as refused:
        house.run(text)
    assert refused.value.sentence == sentence
    assert house.log.lines == []


def test_a_folder_outside_the_workspace_fails_the_step(house: House) -> None:
    result = house.run(steps(bash("true", id="a", dir="../..")))
    assert result.detail == "dir '../..' is outside /workspace and the step's volumes; give a folder below /workspace."
    assert record(house)["steps"][0]["status"] == "FAILURE"


@pytest.mark.parametrize(
    ("entrypoint", "code", "line"),
    [("no-such-command", 127, "no-such-command: not found"), ("/etc", 126, "/etc: permission denied")],
)
def test_a_command_that_is_not_there_is_named(house: House, entrypoint: str, code: int, line: str) -> None:
    result = house.run(steps(f"entrypoint: {entrypoint}, args: []"))
    assert house.said == [line]
    assert re.search(rf"non-zero status: {code} ", result.detail)


def test_docker_is_podman(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorded(house.folder / "tools", "podman")
    monkeypatch.setenv("PATH", f"{house.folder / 'tools'}:{os.environ['PATH']}")
    result = house.run(
        steps(
            "entrypoint: docker, args: [build, --tag, '$_REPOSITORY/a:1', .], env: [SOURCE_DATE_EPOCH=0]",
            bash("docker run --rm --network none --read-only x:1 true && docker login -u me"),
        )
    )
    assert calls.read_text().splitlines() == [
        "podman build --format=oci --identity-label=false --http-proxy=false --layers=false --file=Dockerfile "
        "--timestamp=0 --build-arg=SOURCE_DATE_EPOCH=0 --tag=localhost:5005/images/a:1 .",
        f"podman run --http-proxy=false --read-only-tmpfs=false --label=dev.overnight.build={BUILD_ID} --rm "
        "--network=none --read-only x:1 true",
    ]
    assert house.said[-1].startswith("docker: `docker login` has no stand-in here; a local build has: build, cp, ")
    assert result.status == "FAILURE"


def test_an_image_that_is_docker_itself_needs_no_entrypoint(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = recorded(house.folder / "tools", "podman")
    monkeypatch.setenv("PATH", f"{house.folder / 'tools'}:{os.environ['PATH']}")
    digest = "0" * 64
    house.run(f"steps:\n- name: gcr.io/cloud-builders/docker@sha256:{digest}\n  args: [tag, a:1, b:1]\n")
    assert calls.read_text() == "podman tag a:1 b:1\n"


def test_the_workspace_s_own_overnight_is_not_what_stands_in_for_docker(house: House) -> None:
    (house.workspace / "overnight").mkdir(parents=True)
    (house.workspace / "overnight" / "__init__.py").write_text("raise SystemExit('wrong one')\n")
    house.run(steps("entrypoint: docker, args: [login]"))
    assert house.said[0].startswith("docker: `docker login` has no stand-in here")


def alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
