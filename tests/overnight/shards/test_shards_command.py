import json
import signal
import subprocess
import sys
import time

import pytest

from overnight.cli import main


@pytest.fixture
def command(gallery, monkeypatch, capsys):
    """`overnight shards …` in the gallery's environment; returns (code, stdout, stderr)."""
    config = gallery.base / "env.yaml"
    config.write_text(f"environment: test\nroot: {gallery.base}\nshards:\n  images_per_shard: 7\n")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["overnight", "shards", *arguments, "--config", str(config)])
        with pytest.raises(SystemExit) as ended:
            main.run()
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return run


def test_a_set_is_built_extended_checked_and_shown(gallery, command):
    gallery.fill(9)
    gallery.put("class-0/broken.jpg", b"")
    gallery.register()
    code, out, err = command("build")
    assert (code, err) == (0, "")
    assert out.startswith("Shard set 0001: 9 images in 2 shards, ")
    assert "Quarantined: empty 1.\n  class-0/broken.jpg: empty (the file has no bytes)\n" in out

    assert command("append")[1] == "Nothing to add: shard set 0001 holds every image of the catalogue.\n"
    gallery.fill(2, first=9).register()
    value = json.loads(command("append", "--json")[1])
    assert (value["name"], value["previous"], value["images"], value["shards"]) == ("0002", "0001", 11, 3)
    assert value["quarantine"] == {"empty": 1}
    assert json.loads(command("show", "--json")[1]) == value
    assert [each["name"] for each in json.loads(command("list", "--json")[1])] == ["0001", "0002"]
    assert command("verify") == (0, "Shard set 0002 is ok: 11 images in 3 shards.\n", "")

    shard = gallery.shards / "0001" / "shard-000000.tar"
    shard.unlink()
    code, out, err = command("verify", "--quick")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        f"overnight: {shard}: this file is missing; restore the file from a copy, or write the set anew with "
        "`overnight shards build --anew`."
    ]


def test_mistakes_are_one_sentence(gallery, command):
    for arguments, sentence in (
        (("build",), "there is no image catalogue; run `overnight import` first."),
        (("append",), "there is no shard set yet; make one with `overnight shards build`."),
        (("verify", "0009"), "there is no shard set yet; make one with `overnight shards build`."),
    ):
        code, out, err = command(*arguments)
        assert (code, out) == (2, "")
        assert err.endswith(sentence + "\n")
        assert err.count("\n") == 1


def test_control_c_ends_the_workers_and_leaves_nothing(gallery):
    gallery.fill(60).register()
    config = gallery.base / "env.yaml"
    config.write_text(f"environment: test\nroot: {gallery.base}\nshards:\n  images_per_shard: 1\n")
    build = subprocess.Popen(
        [sys.executable, "-m", "overnight", "shards", "build", "--workers", "2", "--config", str(config)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list(gallery.shards.glob(".0001.*.tmp/shard-*.tar")) and time.monotonic() < deadline:
        time.sleep(0.002)
    build.send_signal(signal.SIGINT)
    out, err = build.communicate(timeout=30)  # the workers hold these pipes too: they have ended
    assert (build.returncode, out) == (130, "")
    assert err.count("\n") <= 1, err
    assert [path.name for path in gallery.shards.iterdir()] == [".lock"]


def test_a_runner_elsewhere_needs_a_folder_elsewhere_and_its_options(gallery, command):
    gallery.fill(3).register()
    code, _, err = command("build", "--runner", "DataflowRunner")
    assert code == 2
    assert err.endswith("a runner elsewhere cannot write to this machine; give --folder gs://BUCKET/shards.\n")
    code, _, err = command("build", "--runner", "Unknown", "--folder", "memory://bucket/shards")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("overnight: --runner=Unknown: Apache Beam says: Unexpected pipeline runner")
