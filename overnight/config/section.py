"""What every part of the environment file is: a frozen model that knows its own words for a wrong value."""

from pydantic import BaseModel, ConfigDict

from overnight.errors import OvernightError


def distinct(values: list[str]) -> list[str]:
    """A list that names nothing twice; for AfterValidator."""
    twice = next((value for place, value in enumerate(values) if value in values[:place]), None)
    if twice is not None:
        raise ValueError(f"{twice!r} stands here twice; remove one of them")
    return values


class ConfigError(OvernightError):
    """The environment file is missing, is not YAML, or has a field that is wrong."""


class Section(BaseModel):
    """A part of the environment: unknown fields are errors, values do not change.

    A field's `description` says which values fit ("a region, such as us-central1"); after "give" it becomes the remedy.
    A validator's message is a whole sentence: the problem, a semicolon, the remedy.
    Values are taken as YAML reads them: a quoted number is text, `true` is not a count.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
