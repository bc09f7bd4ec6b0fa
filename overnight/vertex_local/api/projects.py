"""Project ids and numbers: whatever a request says, resources are named by number, as in Vertex AI."""

import hashlib
import re
from typing import Any

from google.protobuf.message import Message

_NAME = re.compile(r"^projects/([^/]+)/")
_IN_FILTER = re.compile(r"(?<![\w/])projects/([^/\s\"']+)/")

# Fields below the top of a request that name resources of the API, and messages to look into for more.
_NESTED = ("requests", "write_run_data_requests", "events")
_NESTED_NAMES = ("name", "parent", "artifact", "execution", "tensorboard_run")


class Projects:
    """One project id has a number that was given; every other one gets a number made from its id."""

    def __init__(self, project: str, number: str) -> None:
        self._given = {project: number}

    def number(self, project: str) -> str:
        """The project's number, twelve digits; a number is its own."""
        if project.isdigit():
            return project
        made = int.from_bytes(hashlib.sha256(project.encode()).digest()[:8], "big") % (9 * 10**11) + 10**11
        return self._given.get(project, str(made))

    def by_number(self, name: str) -> str:
        """A resource's name with the number in place of the id."""
        return _NAME.sub(lambda match: f"projects/{self.number(match[1])}/", name)

    def rewrite(self, request: Any) -> None:
        """Put numbers into the names that a request uses: its own strings, its resource's name, its filter."""
        for field, value in request.ListFields():
            if field.type == field.TYPE_STRING:
                self._rewrite_strings(request, field, value)
            elif field.type == field.TYPE_MESSAGE and field.name in _NESTED:
                for part in value:
                    self._rewrite_part(part)
            elif isinstance(value, Message) and "name" in value.DESCRIPTOR.fields_by_name:
                value.name = self.by_number(value.name)

    def _rewrite_strings(self, request: Any, field: Any, value: Any) -> None:
        if field.name == "filter":
            request.filter = _IN_FILTER.sub(lambda match: f"projects/{self.number(match[1])}/", value)
        elif isinstance(value, str):
            setattr(request, field.name, self.by_number(value))
        else:
            value[:] = [self.by_number(item) for item in value]

    def _rewrite_part(self, part: Any) -> None:
        for field, value in part.ListFields():
            if field.name in _NESTED_NAMES and field.type == field.TYPE_STRING:
                setattr(part, field.name, self.by_number(value))
            elif isinstance(value, Message) and "name" in value.DESCRIPTOR.fields_by_name:
                value.name = self.by_number(value.name)
