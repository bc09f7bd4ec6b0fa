import json
import os
import subprocess
import sys

import pytest


@pytest.fixture
def command(gallery):
    """`overnight shards …` as a process in the gallery's environment; returns (code, stdout, stderr)."""
    config = gallery.base / "env.yaml"
    config.write_text(f"environment: test\nroot: {gallery.base}\nshards:\n  images_per_shard: 7\n")

    def run(*arguments):
        result = subprocess.run(
            [sys.executable, "-m", "overnight", "shards", *arguments, "--config", str(config)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "120"},
        )
        return result.returncode, result.stdout, result.stderr

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
    assert command("verify") == (0, "Shard set 0002 is ok: 3 shards, 11 images.\n", "")

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
