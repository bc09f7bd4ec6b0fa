"""What all resources have in common: names, times, ETags; create, get, list, update, delete."""

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message

from overnight.vertex_local.api.errors import aborted, failed_precondition, invalid, invalid_fields
from overnight.vertex_local.state.clock import Clock
from overnight.vertex_local.state.filters import Extras, predicate
from overnight.vertex_local.state.paging import page
from overnight.vertex_local.state.store import Store

OUTPUT_ONLY = ("name", "create_time", "update_time", "etag")
"""What a client may send and the server sets."""

_MOST_LABELS = 64
_LABEL = re.compile(r"[\w-]{0,64}")
_SYSTEM_LABELS = "aiplatform.googleapis.com/"


class Resources:
    """Create, get, list, update and delete, the same for every kind of resource."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def create(self, parent: str, collection: str, message: Any, resource_id: str = "") -> Any:
        """Keep a copy of `message` as `<parent>/<collection>/<id>`, with its times and ETag; returns the copy.

        Without `resource_id` it gets a number, as in Vertex AI. Raises ApiError ALREADY_EXISTS.
        """
        return self.put(f"{parent}/{collection}/{resource_id or new_id()}", message)

    def put(self, name: str, message: Any) -> Any:
        """As `create`, under a name that the caller has made; the message's own `name` becomes `name`."""
        kept = type(message)()
        kept.CopyFrom(message)
        kept.name = name
        check_labels(kept)
        if "etag" in kept.DESCRIPTOR.fields_by_name:
            kept.ClearField("etag")
        now = self._clock.timestamp()
        for field in ("create_time", "update_time"):
            if field in kept.DESCRIPTOR.fields_by_name:
                getattr(kept, field).CopyFrom(now)
        self._seal(kept)
        self._store.insert(name, kept.DESCRIPTOR.full_name, kept)
        return kept

    def get(self, name: str) -> Any:
        """The resource; raises ApiError NOT_FOUND."""
        return self._store.get(name)

    def list(self, request: Any, response: Any, kind: str, extras: Extras | None = None) -> Any:
        """Fill the response of a list method from the resources of `kind` under `request.parent`; returns it.

        Honours `filter`, `order_by`, `page_size`, `page_token` and `read_mask` where the request has them.
        """
        return self.fill(request, response, self._store.rows(request.parent, kind), extras)

    def fill(self, request: Any, response: Any, rows: Sequence[tuple[int, Any]], extras: Extras | None = None) -> Any:
        """As `list`, from rows (number, message) that the caller has found."""
        passes = predicate(getattr(request, "filter", ""), extras)
        chosen = [row for row in rows if passes(row[1])]
        parent = getattr(request, "parent", "") or getattr(request, "name", "")
        scope = f"{request.DESCRIPTOR.name}\n{parent}\n{getattr(request, 'filter', '')}"
        order = getattr(request, "order_by", "")
        found, response.next_page_token = page(chosen, order, request.page_size, request.page_token, scope)
        field = next(field.name for field in response.DESCRIPTOR.fields if field.name != "next_page_token")
        getattr(response, field).extend(_masked(request, message) for message in found)
        return response

    def update(self, message: Any, mask: Any, frozen: Sequence[str] = ()) -> Any:
        """Take over the masked fields of `message` into the resource of its name; returns the resource.

        An empty mask means every field that `message` has set. Fields that the server sets are left alone; a mask
        that names one of `frozen` is refused. An ETag in `message` must be the current one.
        Raises ApiError NOT_FOUND, INVALID_ARGUMENT, ABORTED.
        """
        paths = _paths(message, mask, frozen)

        def take_over(kept: Any) -> None:
            if wrong := etag_problem(kept, getattr(message, "etag", "")):
                raise aborted(wrong)
            FieldMask(paths=paths).MergeMessage(message, kept, True, True)
            check_labels(kept)

        return self.change(message.name, take_over)

    def change(self, name: str, change: Callable[[Any], None]) -> Any:
        """Change a resource in one transaction; sets update_time and the ETag. Raises ApiError NOT_FOUND."""

        def changed(kept: Any) -> None:
            change(kept)
            if "update_time" in kept.DESCRIPTOR.fields_by_name:
                kept.update_time.CopyFrom(self._clock.timestamp())
            self._seal(kept)

        return self._store.update(name, changed)

    def delete(self, name: str, etag: str = "") -> Any:
        """Forget a resource; returns what it was. Raises ApiError NOT_FOUND, FAILED_PRECONDITION for another ETag."""
        with self._store.transaction():
            kept = self._store.get(name)
            if wrong := etag_problem(kept, etag):
                raise failed_precondition(wrong)
            self._store.delete(name)
        return kept

    def _seal(self, kept: Any) -> None:
        """Give a message its next ETag, where it has the field: milliseconds, greater than the last."""
        if "etag" in kept.DESCRIPTOR.fields_by_name:
            now = int(self._clock.now().timestamp() * 1000)
            kept.etag = str(max(now, int(kept.etag) + 1 if kept.etag.isdigit() else 0))


def new_id() -> str:
    """A number of 18 or 19 digits, as Vertex AI gives."""
    return str(random.randrange(10**17, 2**63))


def check_id(value: str, pattern: str, field: str, says: str) -> None:
    """Refuse an id that does not match `pattern` from end to end; `says` is the rule in words."""
    if not re.fullmatch(pattern, value):
        raise invalid_fields({field: says})


def require(message: Any, *paths: str) -> None:
    """Refuse a request in which one of the fields is empty, naming all that are."""
    missing = {path: "Required field is not set." for path in paths if not _set(message, path)}
    if missing:
        raise invalid_fields(missing)


def check_labels(message: Any) -> None:
    """Refuse user labels that Vertex AI would refuse."""
    if "labels" not in message.DESCRIPTOR.fields_by_name:
        return
    own = {key: value for key, value in message.labels.items() if not key.startswith(_SYSTEM_LABELS)}
    field = re.sub(r"(?<!^)(?=[A-Z])", "_", message.DESCRIPTOR.name).lower() + ".labels"
    if len(own) > _MOST_LABELS:
        raise invalid_fields({field: f"There can be no more than {_MOST_LABELS} labels attached."})
    for key, value in own.items():
        if not _LABEL.fullmatch(key) or not key or not _LABEL.fullmatch(value) or (key + value).lower() != key + value:
            says = "at most 64 characters each, only lowercase letters, digits, underscores and dashes"
            raise invalid_fields({field: f"Label {key}={value}: {says}."})


def is_field(message: Any, path: str) -> bool:
    """Whether an update mask may say `path`: a field, or a field of a single message in it."""
    return bool(FieldMask(paths=[path]).IsValidForDescriptor(message.DESCRIPTOR))


def etag_problem(kept: Any, etag: str) -> str:
    """Why `etag` is not the resource's current one; empty when it is, or says nothing.

    The SDK reads both numbers out of this sentence, and repeats an update for which its own was older.
    """
    if not etag or etag == kept.etag:
        return ""
    return f"Specified {kept.DESCRIPTOR.name} `etag`: `{etag}` does not match server `etag`: `{kept.etag}`"


def _set(message: Any, path: str) -> bool:
    for part in path.split("."):
        field = message.DESCRIPTOR.fields_by_name[part]
        if field.has_presence and not message.HasField(part):
            return False
        message = getattr(message, part)
    return bool(message) or isinstance(message, Message)


def _paths(message: Any, mask: Any, frozen: Sequence[str]) -> list[str]:
    known = message.DESCRIPTOR.fields_by_name
    asked = list(mask.paths)
    if not asked:
        asked = [field.name for field, _ in message.ListFields()]
    elif asked == ["*"]:
        asked = list(known)
    else:
        wrong = {path: "Unknown field." for path in asked if not is_field(message, path)}
        wrong |= {path: "This field cannot be changed." for path in asked if path.split(".")[0] in frozen}
        if wrong:
            raise invalid_fields({f"update_mask.{path}": text for path, text in wrong.items()})
    return [path for path in asked if path not in OUTPUT_ONLY and path.split(".")[0] not in frozen]


def _masked(request: Any, message: Any) -> Any:
    if (
        "read_mask" not in request.DESCRIPTOR.fields_by_name
        or not request.read_mask.paths
        or "*" in request.read_mask.paths
    ):
        return message
    if not request.read_mask.IsValidForDescriptor(message.DESCRIPTOR):
        raise invalid("The read mask names a field that is not there.")
    seen = type(message)()
    request.read_mask.MergeMessage(message, seen)
    return seen
