"""What tests of the registry client share: waiting that is only noted, a login, and the form of a refusal."""

import pytest

from overnight.images.credentials import Login
from overnight.images.errors import ImageError

PATH = "team/trainer"
MISSING = "sha256:" + "0" * 64
BIG = bytes(range(256)) * 16_000


class Sleeps(list):
    """Seconds that were to be slept."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


class Known:
    """Credentials that know one login, and what they were asked for."""

    def __init__(self, user: str = "me", secret: str = "secret") -> None:
        self.given = Login(user, secret, "a test")
        self.asked: list[str] = []

    def login(self, host: str) -> Login:
        self.asked.append(host)
        return self.given


def refusal(call, *arguments, kind: type[ImageError] = ImageError) -> str:
    """The sentence of the error that `call` must raise."""
    with pytest.raises(kind) as caught:
        call(*arguments)
    sentence = caught.value.sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert caught.value.remedy
    return sentence
