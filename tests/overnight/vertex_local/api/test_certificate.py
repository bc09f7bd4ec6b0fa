from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from overnight.vertex_local.api import certificate
from overnight.vertex_local.api.certificate import own_key_pair


def test_a_certificate_is_made_once(tmp_path):
    first = own_key_pair(tmp_path)
    assert own_key_pair(tmp_path) == first
    assert (tmp_path / "server.key").stat().st_mode & 0o077 == 0


def test_the_certificate_is_for_loopback(tmp_path):
    found = x509.load_pem_x509_certificate(own_key_pair(tmp_path).certificate)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]


def test_a_certificate_is_renewed_before_it_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(certificate, "LIFETIME", timedelta(days=1))
    first = own_key_pair(tmp_path)
    assert own_key_pair(tmp_path).certificate != first.certificate
    monkeypatch.setattr(certificate, "LIFETIME", timedelta(days=365))
    last = own_key_pair(tmp_path)
    ends = x509.load_pem_x509_certificate(last.certificate).not_valid_after_utc
    assert ends > datetime.now(UTC) + timedelta(days=300)


@pytest.mark.parametrize("broken", [b"", b"nothing"])
def test_a_broken_certificate_is_replaced(tmp_path, broken):
    own_key_pair(tmp_path)
    (tmp_path / "server.crt").write_bytes(broken)
    assert own_key_pair(tmp_path).certificate.startswith(b"-----BEGIN CERTIFICATE")
