from datetime import UTC, datetime

import pytest

from overnight.errors import OvernightError
from overnight.files import FolderInUse, read_json, sha256_file
from overnight.models import registry

NOW = datetime(2026, 3, 2, 3, tzinfo=UTC)
FIRST_RUN = "20260302-020000-aaaaaaaa"
SECOND_RUN = "20260309-020000-bbbbbbbb"


def register(root, run_id, name="demo"):
    with registry.hold(root.models, name) as model:
        return registry.register(model, root.path / "runs" / run_id, NOW)


def test_versions_count_from_one_and_serve_without_their_run(root):
    snapshot = root.snapshot()
    run = root.run(FIRST_RUN, snapshot)
    root.run(SECOND_RUN, snapshot)

    first, second = register(root, FIRST_RUN), register(root, SECOND_RUN)

    assert (first.version, second.version) == (1, 2)
    assert sorted(path.name for path in first.folder.iterdir()) == [
        "model.json",
        "model.safetensors",
        "run.json",
        "version.json",
    ]
    assert first.weights_sha256 == sha256_file(run / "model" / "model.safetensors")
    assert read_json(first.folder / "version.json", "overnight.version/1") == {
        "format": "overnight.version/1",
        "name": "demo",
        "version": 1,
        "run_id": FIRST_RUN,
        "created": "2026-03-02T03:00:00Z",
        "weights_sha256": first.weights_sha256,
        "run_sha256": sha256_file(run / "run.json"),
    }


def test_the_same_run_registered_twice_is_the_same_version(root):
    root.run(FIRST_RUN, root.snapshot())
    assert register(root, FIRST_RUN) == register(root, FIRST_RUN)
    assert [entry.version for entry in registry.versions(root.models, "demo")] == [1]


def test_versions_beyond_nine_come_in_the_order_of_their_numbers(root):
    snapshot = root.snapshot()
    for second in range(11):
        run_id = f"20260302-0200{second:02d}-aaaaaaaa"
        root.run(run_id, snapshot)
        register(root, run_id)
    assert [entry.version for entry in registry.versions(root.models, "demo")] == list(range(1, 12))


def test_a_run_that_failed_is_not_registered(root):
    root.run(FIRST_RUN, root.snapshot(), status="failed")
    with pytest.raises(registry.RegistryError, match="status is 'failed'"):
        register(root, FIRST_RUN)
    assert registry.names(root.models) == []


def test_weights_changed_after_the_run_are_not_registered(root):
    run = root.run(FIRST_RUN, root.snapshot())
    (run / "model" / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(registry.RegistryError, match=r"changed after the run"):
        register(root, FIRST_RUN)
    assert registry.versions(root.models, "demo") == []


def test_weights_changed_in_the_registry_are_noticed(root):
    root.run(FIRST_RUN, root.snapshot())
    entry = register(root, FIRST_RUN)
    (entry.folder / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(registry.RegistryError, match=r"not the one that was registered as demo:1"):
        registry.verify(entry)


def test_a_missing_version_is_answered_with_those_that_exist(root):
    root.run(FIRST_RUN, root.snapshot())
    register(root, FIRST_RUN)
    with pytest.raises(registry.RegistryError, match=r"has no version 7; it has 1\."):
        registry.version(root.models, "demo", 7)
    with pytest.raises(registry.RegistryError, match=r"models here: demo"):
        registry.version(root.models, "other", 1)


@pytest.mark.parametrize("name", ["", "../demo", "Demo", "a b", "-x", "x" * 64])
def test_a_name_that_could_leave_the_registry_is_refused(root, name):
    with pytest.raises(registry.RegistryError, match="cannot be the name of a model"):
        registry.versions(root.models, name)


def test_two_processes_cannot_hold_one_model(root):
    with (
        registry.hold(root.models, "demo"),
        pytest.raises(FolderInUse, match="another promotion of this model"),
        registry.hold(root.models, "demo"),
    ):
        pass


def test_what_a_killed_registration_left_is_removed(root):
    left_over = root.models / "demo" / "versions" / ".1.x.tmp"
    left_over.mkdir(parents=True)
    (left_over / "model.safetensors").write_bytes(b"half")
    root.run(FIRST_RUN, root.snapshot())
    assert register(root, FIRST_RUN).version == 1
    assert not left_over.exists()


def test_a_moved_version_folder_is_noticed(root):
    root.run(FIRST_RUN, root.snapshot())
    entry = register(root, FIRST_RUN)
    entry.folder.rename(entry.folder.with_name("5"))
    with pytest.raises(OvernightError, match=r"speaks of demo:1"):
        registry.versions(root.models, "demo")
