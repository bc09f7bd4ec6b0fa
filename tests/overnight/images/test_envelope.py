"""DSSE envelopes: signed and checked, altered, foreign, and what is no envelope."""

import base64
import json

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from overnight.images.envelope import PAYLOAD_TYPE, read, sign, signed_by
from overnight.images.errors import ImageError
from overnight.images.keys import key_pair

PAYLOAD = b'{"_type": "https://in-toto.io/Statement/v1"}\n'


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    return key_pair(tmp_path_factory.mktemp("ours") / "attestation.pem")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    return key_pair(tmp_path_factory.mktemp("theirs") / "attestation.pem")


def test_an_envelope_is_what_dsse_says(ours) -> None:
    """The signed bytes by hand, and the signature checked by the cryptography library itself."""
    value = json.loads(sign(PAYLOAD, ours))
    (signature,) = value.pop("signatures")
    assert value == {"payload": base64.b64encode(PAYLOAD).decode(), "payloadType": PAYLOAD_TYPE}
    assert signature.pop("keyid") == ours.public.key_id
    signed = b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(PAYLOAD), PAYLOAD)
    public = ours.signer._private_key.public_key()
    public.verify(base64.b64decode(signature.pop("sig")), signed, ec.ECDSA(hashes.SHA256()))
    assert signature == {}


def test_the_payload_comes_back_and_the_right_key_is_found(ours, theirs) -> None:
    envelope = read(sign(PAYLOAD, ours))
    assert envelope.payload == PAYLOAD
    assert signed_by(envelope, [theirs.public, ours.public]) == (ours.public.key_id,)
    assert signed_by(envelope, [theirs.public]) == ()
    assert signed_by(envelope, []) == ()


def test_two_keys_sign_one_envelope_and_each_is_found(ours, theirs) -> None:
    envelope = read(sign(PAYLOAD, theirs, ours))
    assert signed_by(envelope, [ours.public]) == (ours.public.key_id,)
    assert signed_by(envelope, [theirs.public]) == (theirs.public.key_id,)


@pytest.mark.parametrize("key_id", ["", "somebody else", None])
def test_the_key_id_is_a_hint_and_decides_nothing(ours, key_id) -> None:
    """cosign leaves it empty; anyone can write ours."""
    value = json.loads(sign(PAYLOAD, ours))
    value["signatures"][0]["keyid"] = key_id
    assert signed_by(read(json.dumps(value).encode()), [ours.public]) == (ours.public.key_id,)


def test_our_key_id_on_a_foreign_signature_is_not_believed(ours, theirs) -> None:
    value = json.loads(sign(PAYLOAD, theirs))
    value["signatures"][0]["keyid"] = ours.public.key_id
    assert signed_by(read(json.dumps(value).encode()), [ours.public]) == ()


def test_one_changed_bit_anywhere_is_found(ours) -> None:
    value = json.loads(sign(PAYLOAD, ours))
    for position in range(len(PAYLOAD)):
        altered = bytearray(PAYLOAD)
        altered[position] ^= 1
        changed = {**value, "payload": base64.b64encode(altered).decode()}
        assert signed_by(read(json.dumps(changed).encode()), [ours.public]) == ()


def test_both_alphabets_of_base64_are_read(ours) -> None:
    value = json.loads(sign(bytes(range(256)), ours))
    for item in (value, value["signatures"][0]):
        for key in {"payload", "sig"} & item.keys():
            item[key] = item[key].replace("+", "-").replace("/", "_").rstrip("=")
    assert signed_by(read(json.dumps(value).encode()), [ours.public]) == (ours.public.key_id,)


GOOD = {"payload": "e30=", "payloadType": PAYLOAD_TYPE, "signatures": [{"sig": "AAAA", "keyid": ""}]}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "the attestation is not JSON"),
        (b"\xff\x00", "the attestation is not JSON"),
        ("[" * 100_000, "the attestation is not JSON"),
        ([], "the attestation is not a DSSE envelope"),
        ({**GOOD, "payload": 7}, "the attestation is not a DSSE envelope"),
        ({**GOOD, "payloadType": "text/plain"}, f"the attestation's payload is 'text/plain' and not {PAYLOAD_TYPE}"),
        ({**GOOD, "signatures": []}, "the attestation is not signed"),
        ({**GOOD, "signatures": {"sig": "AAAA"}}, "the attestation is not signed"),
        ({**GOOD, "signatures": ["AAAA"]}, "the attestation holds something that is no signature"),
        ({**GOOD, "signatures": [{"keyid": "a"}]}, "the attestation holds something that is no signature"),
        ({**GOOD, "payload": "e3*="}, "the attestation holds text that is not base64"),
        ({**GOOD, "signatures": [{"sig": "é"}]}, "the attestation holds text that is not base64"),
    ],
)
def test_what_is_no_envelope_is_refused_in_one_sentence(value, problem) -> None:
    data = value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()
    with pytest.raises(ImageError) as raised:
        read(data)
    assert raised.value.sentence == f"{problem}."


@pytest.mark.parametrize("signature", ["", "AAAA", "MEUC"])
def test_a_signature_that_is_none_is_not_valid(ours, signature) -> None:
    data = json.dumps({**GOOD, "signatures": [{"sig": signature, "keyid": ours.public.key_id}]}).encode()
    assert signed_by(read(data), [ours.public]) == ()
