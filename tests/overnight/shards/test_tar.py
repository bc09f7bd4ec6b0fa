import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.shards import tar

NAMES = st.from_regex(r"[a-zA-Z0-9_-]{1,40}(/[a-zA-Z0-9_-]{1,40})?\.jpg", fullmatch=True)


@given(st.dictionaries(NAMES, st.binary(max_size=1500), max_size=6))
def test_any_reader_finds_what_was_written(members):
    file = io.BytesIO()
    writer = tar.Writer(file)
    offsets = {name: writer.add(name, data) for name, data in members.items()}
    writer.finish()
    written = file.getvalue()
    assert writer.size == len(written)
    with tarfile.open(fileobj=io.BytesIO(written)) as archive:
        found = {member.name: (archive.extractfile(member).read(), member.offset_data) for member in archive}
    assert found == {name: (data, offsets[name]) for name, data in members.items()}


def test_the_bytes_are_fixed_for_ever():
    writer = tar.Writer(io.BytesIO())
    writer.add("class/a.jpg", b"abc")
    assert writer.finish() == "45ecf344ebf27868a925ca3453af8c5eb574e68cbdabfc3fa2ab1da2c9fc34e0"


@pytest.mark.parametrize(("name", "size"), [("n" * 101, 1), ("name", 8**11)])
def test_what_ustar_cannot_hold_is_an_error(name, size):
    with pytest.raises(ValueError, match=r"longer than 100 bytes|too many for a USTAR member"):
        tar.header(name, size)
