"""`overnight image pin` as it is typed."""

import json
from pathlib import Path

import pytest

import cloud_build_server
import terraform_bucket
from image_commands import BUILD, COMMIT, HEAD, NEW, OTHER, REPOSITORY, release_of
from registry_server import RegistryServer

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "config" / "example.yaml"


@pytest.fixture
def local(tmp_path) -> Path:
    """An environment file of this machine."""
    path = tmp_path / "local.yaml"
    path.write_text(f"environment: local\nroot: {tmp_path}/root\n")
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "jobs").glob("*.yaml"))}


def test_the_shipped_specs_get_the_digest_and_the_diff_shows_it(image, tmp_path):
    before = content(tmp_path)
    done = image("pin", "jobs/*.yaml", "--image", "trainer-gpu", "--to", NEW)
    assert done.code == 0
    assert done.stderr == "6 references pinned in 6 files.\n"
    removed = [line for line in done.stdout.splitlines() if line.startswith("-") and not line.startswith("---")]
    added = [line for line in done.stdout.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert len(removed) == len(added) == 6
    assert set(added) == {f"+          imageUri: {REPOSITORY}/trainer-gpu@{NEW}"}
    after = content(tmp_path)
    old = "4b227777d4dd1fc61c6f884f48641d02b4d121d3fd328cb08b5531fcacdabf8a"
    assert after == {name: data.replace(old.encode(), b"a" * 64) for name, data in before.items()}
    assert "\x1b[" not in done.stdout


def test_the_same_again_changes_nothing(image, tmp_path):
    image("pin", "jobs/*.yaml", "--image", "trainer-gpu", "--to", NEW)
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "jobs").iterdir()}
    done = image("pin", "jobs/*.yaml", "--image", "trainer-gpu", "--to", NEW)
    assert (done.code, done.stdout, done.stderr) == (0, "", "0 references pinned.\n")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "jobs").iterdir()} == stamps


def test_a_dry_run_prints_the_diff_and_writes_nothing(image, tmp_path):
    before = content(tmp_path)
    done = image("pin", "jobs/single-gpu.yaml", "--to", NEW, "--dry-run")
    assert done.code == 0
    assert f"+          imageUri: {REPOSITORY}/trainer-gpu@{NEW}\n" in done.stdout
    assert done.stderr == "1 reference would be pinned in 1 file.\n"
    assert content(tmp_path) == before


def test_a_check_names_file_line_and_field_and_writes_nothing(image, tmp_path):
    before = content(tmp_path)
    done = image("pin", "jobs/single-gpu.yaml", "jobs/local.yaml", "--to", NEW, "--check")
    assert done.code == 2
    old = "4b227777d4dd1fc61c6f884f48641d02b4d121d3fd328cb08b5531fcacdabf8a"
    assert done.stdout == (
        "jobs/single-gpu.yaml:18: customJob.jobSpec.workerPoolSpecs[0].containerSpec.imageUri: "
        f"{REPOSITORY}/trainer-gpu@sha256:{old} would become {REPOSITORY}/trainer-gpu@{NEW}.\n"
        "2 files checked: 1 image to pin.\n"
    )
    assert content(tmp_path) == before
    image("pin", "jobs/single-gpu.yaml", "--to", NEW)
    assert image("pin", "jobs/single-gpu.yaml", "--to", NEW, "--check").code == 0


def test_a_check_without_a_source_asks_nobody(image, tmp_path):
    done = image("pin", "jobs/*.yaml", "--check")
    assert (done.code, done.stdout) == (0, "12 files checked: every image is pinned.\n")
    team = tmp_path / "team.yaml"
    team.write_text(
        "image: registry.invalid/a/b:1\nservices: {db: {image: postgres:16}}\nok: 1\nx: [{imageUri: gcr.io/a/b}]\n"
    )
    done = image("pin", team, "--check")
    assert done.code == 2
    assert done.stdout.splitlines() == [
        f"{team}:1: image: registry.invalid/a/b:1 has no digest.",
        f"{team}:2: services.db.image: 'postgres:16': it names no registry, and docker.io is not assumed; "
        "write the registry's host before it.",
        f"{team}:4: x[0].imageUri: 'gcr.io/a/b': Container Registry (gcr.io) is gone; "
        "in Artifact Registry the name reads us-docker.pkg.dev/a/gcr.io/b.",
        "1 file checked: 3 images to pin.",
    ]
    assert image("pin", team, "--check", "--image", "b").stdout.splitlines()[-1] == "1 file checked: 1 image to pin."


def test_for_machines_the_changes_are_json(image):
    done = image("pin", "jobs/single-gpu.yaml", "--to", NEW, "--json")
    old = "4b227777d4dd1fc61c6f884f48641d02b4d121d3fd328cb08b5531fcacdabf8a"
    assert json.loads(done.stdout) == {
        "changes": [
            {
                "path": "jobs/single-gpu.yaml",
                "line": 18,
                "field": "customJob.jobSpec.workerPoolSpecs[0].containerSpec.imageUri",
                "before": f"{REPOSITORY}/trainer-gpu@sha256:{old}",
                "after": f"{REPOSITORY}/trainer-gpu@{NEW}",
            }
        ],
        "unpinned": [],
        "written": True,
    }
    again = image("pin", "jobs/single-gpu.yaml", "--to", OTHER, "--json", "--check")
    assert again.code == 2
    assert json.loads(again.stdout)["written"] is False


def test_one_bad_file_changes_none(image, tmp_path):
    (tmp_path / "jobs" / "zz.yaml").write_text("a: [\n")
    before = content(tmp_path)
    done = image("pin", "jobs/*.yaml", "--image", "trainer-gpu", "--to", NEW)
    assert done.code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("overnight: jobs/zz.yaml: this is not YAML: ")
    assert content(tmp_path) == before


def test_tags_are_looked_up_in_their_registry(image, tmp_path):
    with RegistryServer() as registry:
        single = registry.push_image("team/app", "v1")
        index = registry.push_index("team/base", "3", {"linux/amd64": registry.push_image("team/base")})
        path = tmp_path / "pod.yaml"
        path.write_text(
            f"# app:v1\nimage: {registry.host}/team/app:v1  # keep me\nother: '{registry.host}/team/base:3'\n"
            f"image2: {registry.host}/team/app@{OTHER}\nimage3: nginx:1\n"
        )
        done = image("pin", path)
    assert done.code == 0
    assert path.read_text() == (
        f"# app:v1\nimage: {registry.host}/team/app@{single}  # keep me\nother: '{registry.host}/team/base@{index}'\n"
        f"image2: {registry.host}/team/app@{OTHER}\nimage3: nginx:1\n"
    )
    assert done.stderr == "2 references pinned in 1 file.\n"


def test_what_cannot_be_pinned_as_it_is_written_is_told(image, tmp_path):
    path = tmp_path / "pod.yaml"
    path.write_text(f"image: ghcr.io/a/b@{OTHER}\nspec: {{image: nginx:1}}\n")
    done = image("pin", path)
    assert done.code == 0
    assert done.stderr == (
        f"0 references pinned.\nLeft as it is: {path}:2: spec.image: 'nginx:1': it names no registry, "
        "and docker.io is not assumed; write the registry's host before it.\n"
    )


def test_a_tag_that_is_not_there_changes_nothing(image, tmp_path):
    with RegistryServer() as registry:
        registry.push_image("team/app", "v1")
        path = tmp_path / "pod.yaml"
        text = f"a: {registry.host}/team/app:v1\nb: {registry.host}/team/app:v2\n"
        path.write_text(text)
        done = image("pin", path)
    assert done.code == 2
    assert "v2" in done.stderr
    assert path.read_text() == text


def test_an_index_in_our_own_repository_is_refused(image, tmp_path, monkeypatch, local):
    with RegistryServer() as registry:
        monkeypatch.setattr("overnight.images.local.LOCAL_REPOSITORY", f"{registry.host}/overnight-images")
        name = "overnight-images/steps"
        registry.push_index(name, "v1", {"linux/amd64": registry.push_image(name)})
        path = tmp_path / "pod.yaml"
        path.write_text(f"image: {registry.host}/{name}:v1\n")
        done = image("pin", path, "--config", local)
    assert done.code == 2
    assert "manifest list" in done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--to", NEW, "--from-build", BUILD], "--to and --from-build say different things; give one of them."),
        (["--from-build", BUILD, "--from-release", COMMIT], "--from-build and --from-release say different things"),
        (["--to", NEW], "--to: one digest cannot be that of 5 images (reductionserver, tabular, trainer-gpu, "),
        (["--image", "trainer", "--to", NEW], "--image: no reference to 'trainer' stands in these files, only to "),
        (["--image", "trainer", "--check"], "--image: no reference to 'trainer' stands in these files, only to "),
        (["--to", ""], "--to: nothing is written behind it"),
        (["--from-build", ""], "--from-build: nothing is written behind it"),
        (["--from-release", BUILD, "--config", "none.yaml"], "none.yaml: "),
    ],
)
def test_options_that_do_not_fit_are_one_sentence_and_exit_code_2(image, tmp_path, options, says):
    before = content(tmp_path)
    done = image("pin", "jobs/*.yaml", *options)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"overnight: {says}")
    assert done.stderr.count("\n") == 1
    assert content(tmp_path) == before


def test_what_was_released_in_a_folder_is_pinned_by_a_short_commit(image, tmp_path, local):
    place = tmp_path / "root" / "releases"
    assert image(*HEAD, "--releases", place, *release_of("trainer-gpu", "steps")).code == 0
    done = image("pin", "jobs/*.yaml", "--from-release", COMMIT[:7], "--config", local)
    assert (done.code, done.stderr) == (0, "6 references pinned in 6 files.\n")
    assert image("pin", "jobs/*.yaml", "--from-release", COMMIT, "--config", local, "--check").code == 0


def test_what_was_released_in_the_environments_bucket_is_pinned(image, monkeypatch):
    with terraform_bucket.serving("acme-vision-prod-example-models") as bucket:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket.url)
        place = "gs://acme-vision-prod-example-models/releases"
        assert image(*HEAD, "--releases", place, *release_of("trainer-gpu")).code == 0
        done = image("pin", "jobs/*.yaml", "--from-release", COMMIT, "--config", EXAMPLE)
    assert (done.code, done.stderr) == (0, "6 references pinned in 6 files.\n")


def test_a_release_in_another_repository_is_refused_with_both_names(image, tmp_path, local):
    elsewhere = "localhost:5005/overnight-images"
    image(*HEAD, "--releases", tmp_path / "root" / "releases", *release_of("trainer-gpu", repository=elsewhere))
    before = content(tmp_path)
    done = image("pin", "jobs/*.yaml", "--from-release", COMMIT, "--config", local)
    assert done.code == 2
    assert f"it made {elsewhere}/trainer-gpu, and the files name {REPOSITORY}/trainer-gpu; " in done.stderr
    assert f"give --image trainer-gpu --to {NEW}." in done.stderr
    assert content(tmp_path) == before


def test_what_a_local_build_pushed_is_pinned(image, tmp_path, local):
    build = {"status": "SUCCESS", "results": {"images": [{"name": f"{REPOSITORY}/trainer-gpu:x", "digest": NEW}]}}
    (tmp_path / "root" / "builds").mkdir(parents=True)
    (tmp_path / "root" / "builds" / "b1.json").write_text(json.dumps(build))
    done = image("pin", "jobs/*.yaml", "--from-build", "b1", "--config", local)
    assert (done.code, done.stderr) == (0, "6 references pinned in 6 files.\n")


def test_what_a_build_of_the_environments_project_pushed_is_pinned(image, monkeypatch):
    name = f"projects/acme-vision-prod/locations/us-central1/builds/{BUILD}"
    build = {"status": "SUCCESS", "results": {"images": [{"name": f"{REPOSITORY}/trainer-gpu:x", "digest": NEW}]}}
    with cloud_build_server.serving("grpc") as service:
        service.builds[name] = build
        monkeypatch.setattr("google.cloud.devtools.cloudbuild_v1.CloudBuildClient", lambda: service.client)
        done = image("pin", "jobs/*.yaml", "--from-build", BUILD, "--config", EXAMPLE)
    assert (done.code, done.stderr) == (0, "6 references pinned in 6 files.\n")
    assert service.requests == [cloud_build_server.GetBuildRequest(name=name)]
