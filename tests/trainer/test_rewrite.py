"""The process that rewrites pictures, through its pipes."""

import io
import json
import struct
import subprocess
import sys
import time

import pytest

from jpeg_files import jpeg, patched, picture
from trainer import _native
from trainer.rewrite import FORMAT, ProtocolError, serve


def request(head: object, body: bytes) -> bytes:
    encoded = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack(">I", len(encoded)) + encoded + struct.pack(">I", len(body)) + body


def frames(data: bytes) -> list[bytes]:
    found = []
    while data:
        (length,) = struct.unpack_from(">I", data)
        found.append(data[4 : 4 + length])
        data = data[4 + length :]
    return found


def answers(*requests: bytes) -> list[tuple[dict[str, str], bytes]]:
    out = io.BytesIO()
    serve(io.BytesIO(b"".join(requests)), out)
    parts = frames(out.getvalue())
    return [(json.loads(head), body) for head, body in zip(parts[::2], parts[1::2], strict=True)]


def test_it_says_first_what_it_speaks_and_what_decides_the_bytes() -> None:
    assert answers() == [({"format": FORMAT, "libjpeg_turbo": _native.LIBJPEG_VERSION}, b"")]


def test_each_picture_gets_its_answer_in_order() -> None:
    good, disputed = jpeg(picture(1)), patched(jpeg(picture(2), quality=100), 0xDB, 1, 255)
    found = answers(request({"rows": 1}, good), request({"rows": 1}, b"text"), request({"rows": 2}, disputed))
    assert found[1:] == [
        ({"status": "ok"}, _native.rewrite(good, 1)[0]),
        ({"status": "not-a-jpeg"}, b""),
        ({"status": "decoders-disagree"}, b""),
    ]


def test_it_runs_where_nothing_else_is_installed() -> None:
    """The image of pipeline steps has no PyTorch, and a Beam worker may have nothing but the trainer."""
    program = (
        "import sys; before = set(sys.modules); import trainer.rewrite\n"
        "others = {'torch', 'numpy', 'pyarrow', 'PIL', 'safetensors', 'google.cloud', 'google_crc32c'}\n"
        "print(sorted(others & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (request(b"{", b""), "not a request's head"),
        (request([1], b""), "not a request's head"),
        (request({"row": 1}, b""), "not a request's head"),
        (request({"rows": -1}, b""), "rows: -1 cannot be; give 0 to 65535"),
        (request({"rows": True}, b""), "rows: True cannot be"),
        (request({"rows": 1}, b"picture")[:-2], "ends inside a frame"),
        (request({"rows": 1}, b"")[:-4], "ends inside a request"),
        (b"\0\0", "ends inside a frame"),
    ],
)
def test_what_is_no_request_is_one_sentence(sent: bytes, problem: str) -> None:
    with pytest.raises(ProtocolError, match=problem):
        answers(sent)


def test_the_process_starts_at_once_without_torch_and_ends_with_its_input() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "trainer.rewrite"]
    began = time.monotonic()
    done = subprocess.run(command, input=request({"rows": 1}, jpeg(picture(3))), capture_output=True, check=True)
    assert time.monotonic() - began < 5
    assert json.loads(frames(done.stdout)[2]) == {"status": "ok"}
    loaded = {line.rsplit("|", 1)[1].strip() for line in done.stderr.decode().splitlines()}
    assert not loaded & {"torch", "numpy", "PIL", "pyarrow"}


def test_a_broken_request_ends_the_process_with_exit_code_2() -> None:
    done = subprocess.run([sys.executable, "-m", "trainer.rewrite"], input=b"GET /", capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.decode() == "trainer: standard input: the input ends inside a frame.\n"
