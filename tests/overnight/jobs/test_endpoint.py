import pytest

from overnight.errors import OvernightError
from overnight.jobs.endpoint import Endpoint, parse_endpoint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, Endpoint("", "grpc", True)),
        ("", Endpoint("", "grpc", True)),
        ("http://127.0.0.1:7472", Endpoint("127.0.0.1:7472", "rest", False)),
        ("http://127.0.0.1:7472/", Endpoint("127.0.0.1:7472", "rest", False)),
        ("http://localhost:7472", Endpoint("localhost:7472", "rest", False)),
        ("127.0.0.1:7470", Endpoint("127.0.0.1:7470", "grpc", False)),
        ("localhost:7470", Endpoint("localhost:7470", "grpc", False)),
        ("[::1]:7470", Endpoint("[::1]:7470", "grpc", False)),
        ("us-central1-aiplatform.googleapis.com", Endpoint("us-central1-aiplatform.googleapis.com", "grpc", True)),
        ("https://vertex.example.com", Endpoint("vertex.example.com", "rest", True)),
    ],
)
def test_an_endpoint_says_how_it_is_spoken_to(text, expected):
    assert parse_endpoint(text) == expected


@pytest.mark.parametrize("text", ["http://vertex.example.com", "http://10.0.0.1:80", "http://127.0.0.1.example.com"])
def test_nothing_is_sent_in_the_open_beyond_this_machine(text):
    with pytest.raises(OvernightError, match="in the open"):
        parse_endpoint(text)


@pytest.mark.parametrize("text", ["ftp://127.0.0.1", "http://", "127.0.0.1:7470/v1"])
def test_what_is_no_endpoint_is_refused(text):
    with pytest.raises(OvernightError, match="is no endpoint"):
        parse_endpoint(text)
