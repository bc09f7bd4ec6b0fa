import pytest

from overnight.models.promotions import Decision


@pytest.fixture
def decision():
    """A maker of decisions about model demo."""

    def make(version: int, *, time: str = "2026-03-02T03:00:00Z", verdict: str = "promoted") -> Decision:
        return Decision(
            time=time,
            model="demo",
            version=version,
            decision=verdict,
            reason=f"version {version} was {verdict}",
            champion_before=None,
            run_id=f"20260302-020000-0000000{version}",
            snapshot={"name": "20260302-abcdefabcdef", "sha256": "a" * 64},
            evaluation={"accuracy": 0.9},
        )

    return make
