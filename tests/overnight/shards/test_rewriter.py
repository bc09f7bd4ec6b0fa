"""The process that rewrites pictures, as the shard builder sees it: sound, dying, hanging, or not there."""

import io
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from overnight.shards.errors import ShardError
from overnight.shards.rewriter import FORMAT, Answer, Rewriter

SPEAKING = """
import json, os, signal, struct, sys, time
def send(head, body=b""):
    head = json.dumps(head).encode()
    sys.stdout.buffer.write(struct.pack(">I", len(head)) + head + struct.pack(">I", len(body)) + body)
    sys.stdout.buffer.flush()
def frame():
    prefix = sys.stdin.buffer.read(4)
    if not prefix:
        sys.exit()
    return sys.stdin.buffer.read(*struct.unpack(">I", prefix))
"""
HELLO = 'send({"format": "overnight.rewrite/1", "libjpeg_turbo": "9.9"})\n'


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Rewriter]:
    """A Rewriter whose process runs the given lines."""

    def make(lines: str, seconds: float = 60) -> Rewriter:
        script = tmp_path / "process.py"
        script.write_text(SPEAKING + lines)
        return Rewriter([sys.executable, str(script)], seconds)

    return make


def photograph() -> bytes:
    noise = np.random.default_rng(1).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).resize((96, 64)).save(out, "JPEG")
    return out.getvalue()


def test_a_picture_comes_back_with_markers_and_the_same_pixels() -> None:
    rewriter = Rewriter()
    answer = rewriter.rewrite(photograph())
    rewriter.close()
    assert answer.status == "ok"
    assert b"\xff\xd0" in answer.data
    same = [np.asarray(Image.open(io.BytesIO(data))) for data in (photograph(), answer.data)]
    np.testing.assert_array_equal(*same)


def test_nothing_starts_before_the_first_picture_and_closing_ends_it(process, tmp_path) -> None:
    started = tmp_path / "started"
    rewriter = process(
        f"open({str(started)!r}, 'w').close()\n{HELLO}frame(), frame(), send({{'status': 'x'}})\nframe()"
    )
    assert not started.exists()
    assert rewriter.rewrite(b"") == Answer("x")
    rewriter.close()
    assert rewriter._process is None


def test_a_process_that_dies_between_pictures_is_started_again() -> None:
    rewriter = Rewriter()
    first = rewriter.rewrite(photograph())
    assert rewriter._process is not None
    os.kill(rewriter._process.pid, signal.SIGTERM)
    rewriter._process.wait()
    assert rewriter.rewrite(photograph()) == first
    rewriter.close()


def test_a_process_that_dies_on_a_picture_twice_has_crashed_on_it_and_the_next_one_goes_on(process) -> None:
    lines = """
while True:
    frame(); picture = frame()
    if picture == b"bad": os.abort()
    send({"status": "ok"}, picture)
"""
    rewriter = process(HELLO + lines)
    assert rewriter.rewrite(b"bad") == Answer("crashed")
    assert rewriter.rewrite(b"good") == Answer("ok", b"good")
    rewriter.close()


def test_a_picture_that_takes_too_long_is_given_up(process) -> None:
    rewriter = process(HELLO + "frame(); frame(); time.sleep(60)", seconds=2)
    assert rewriter.rewrite(b"slow") == Answer("timed-out")


def test_a_machine_short_of_memory_is_no_property_of_the_picture(process) -> None:
    killed = process(HELLO + "frame(); frame(); os.kill(os.getpid(), signal.SIGKILL)")
    said = process(HELLO + "frame(); frame(); send({'status': 'out-of-memory'}); frame()")
    for rewriter in (killed, said):
        with pytest.raises(MemoryError):
            rewriter.rewrite(b"large")
        rewriter.close()


def test_without_the_trainer_package_one_sentence_names_the_remedy() -> None:
    rewriter = Rewriter([sys.executable, "-I", "-S", "-m", "trainer.rewrite"])
    with pytest.raises(ShardError) as caught:
        rewriter.libjpeg_version()
    assert caught.value.sentence == (
        "restart markers need the trainer package, which is not installed; install it into this Python "
        "(pip install ./trainer), or set shards.restart_markers to false."
    )


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("sys.exit('libjpeg.so.62: cannot open')", r"does not start \(libjpeg\.so\.62: cannot open\)"),
        ("", r"does not start \(it says nothing\)"),
        ('send({"format": "overnight.rewrite/9"})', "speaks 'overnight.rewrite/9'"),
    ],
)
def test_a_trainer_that_does_not_start_says_why(process, lines: str, problem: str) -> None:
    with pytest.raises(ShardError, match=problem):
        process(lines).rewrite(photograph())


def test_the_version_that_decides_the_bytes_is_asked_for(process) -> None:
    rewriter = process(HELLO + "frame()")
    assert rewriter.libjpeg_version() == "9.9"
    rewriter.close()


def test_the_formats_page_has_the_protocol() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    assert f"`{FORMAT}`" in page
