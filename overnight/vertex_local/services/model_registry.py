"""Models and their versions: what both share, what each has, and who holds which alias.

Stored are the model itself (names, times, labels of the model) under its name, and each version under
`<model>/versions/<number>`. What clients see is the version with the model's part laid over it; labels of both merged.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from google.cloud import aiplatform_v1 as v1
from google.protobuf.field_mask_pb2 import FieldMask

from overnight.vertex_local.api.errors import aborted, exists, failed_precondition, invalid_fields, not_found
from overnight.vertex_local.world import World

KIND = "google.cloud.aiplatform.v1.Model"
DEFAULT = "default"

_ALIAS = re.compile(r"[a-z][a-zA-Z0-9-]{0,126}[a-z0-9]")
_LAST_VERSION = "last version"
_SHARED = ("display_name", "description", "create_time")

Rows = list[tuple[int, Any]]


class ModelRegistry:
    """Names may carry `@version` or `@alias`; without one the default version is meant."""

    def __init__(self, world: World) -> None:
        self._store = world.store
        self._resources = world.resources
        self._clock = world.clock

    def add(self, base: str, model: Any, new: bool) -> tuple[str, str]:
        """Add a version to the model `base`, which is `new` or must be there; returns (base, version id).

        The first version becomes the default one. Aliases move here from other versions.
        Raises ApiError ALREADY_EXISTS, NOT_FOUND, INVALID_ARGUMENT.
        """
        aliases = list(model.version_aliases)
        _check_aliases(aliases)
        with self._store.transaction():
            if new:
                if self._store.find(base):
                    raise exists(base)
                shared = v1.Model.pb()(display_name=model.display_name, description=model.description)
                self._resources.put(base, shared)
            self._store.get(base)
            number = self._store.note(base, _LAST_VERSION, 0) + 1
            self._store.set_note(base, _LAST_VERSION, number)
            self._put_version(base, str(number), model)
            wanted = [*aliases, *([DEFAULT] if new and DEFAULT not in aliases else [])]
            self._give_aliases(base, str(number), wanted, [])
        return base, str(number)

    def get(self, name: str) -> Any:
        """The version as clients see it, named with `@number` when asked for with `@`; raises ApiError NOT_FOUND.

        (The SDK sends the message back for an update of the version, so the name must say which it is.)
        """
        base, version = self.locate(name)
        seen = self._seen(base, self._store.get(f"{base}/versions/{version}"))
        if "@" in name:
            seen.name = f"{base}@{version}"
        return seen

    def default(self, base: str) -> Any:
        """The model as its default version."""
        return self.get(base)

    def locate(self, name: str) -> tuple[str, str]:
        """The model's name and the version's number; raises ApiError NOT_FOUND."""
        base, _, wanted = name.partition("@")
        wanted = wanted if wanted not in ("", "-") else DEFAULT
        for model in self._versions(base):
            if wanted == model.version_id or wanted in model.version_aliases:
                return base, model.version_id
        raise not_found(name)

    def versions(self, name: str) -> Rows:
        """All versions as clients see them, their names with `@version`; raises ApiError NOT_FOUND."""
        base = name.partition("@")[0]
        self._store.get(base)
        rows = []
        for number, model in self._store.rows(base, KIND):
            seen = self._seen(base, model)
            seen.name = f"{base}@{model.version_id}"
            rows.append((number, seen))
        return rows

    def update(self, model: Any, mask: Any, versioned: bool) -> Any:
        """Take over masked fields of the version, or of what all versions share; returns the version."""
        base, version = self.locate(model.name)
        with self._store.transaction():
            _check_etag(self.get(model.name).etag, model.etag, versioned)
            if versioned:
                self._change_version(base, version, lambda kept: mask.MergeMessage(model, kept, True, True))
            else:
                self._resources.change(base, lambda kept: mask.MergeMessage(model, kept, True, True))
        return self.get(model.name)

    def merge_aliases(self, name: str, changes: list[str]) -> Any:
        """Give aliases to a version, take those with a `-` from it; returns the version.

        What is both given and taken stays as it is. Raises ApiError NOT_FOUND, INVALID_ARGUMENT; FAILED_PRECONDITION
        when the model would be left without a default version.
        """
        given = [alias for alias in changes if not alias.startswith("-")]
        taken = [alias[1:] for alias in changes if alias.startswith("-")]
        _check_aliases([*given, *taken])
        base, version = self.locate(name)
        both = set(given) & set(taken)
        if DEFAULT in set(taken) - both:
            raise failed_precondition("A model has one default version: give the alias to another version instead.")
        with self._store.transaction():
            self._give_aliases(base, version, *([a for a in group if a not in both] for group in (given, taken)))
        return self.get(f"{base}@{version}")

    def delete(self, base: str) -> None:
        """Forget a model with all versions and evaluations; raises ApiError NOT_FOUND."""
        with self._store.transaction():
            last = self._store.note(base, _LAST_VERSION, 0)
            self._store.delete(base)
            self._store.delete_below(base)
            for version in range(1, last + 1):
                self._store.delete_below(f"{base}@{version}")

    def delete_version(self, name: str) -> None:
        """Forget a version and its evaluations; raises ApiError NOT_FOUND, FAILED_PRECONDITION for the default one."""
        base, version = self.locate(name)
        with self._store.transaction():
            kept = self._store.get(f"{base}/versions/{version}")
            if len(self._versions(base)) == 1:
                raise failed_precondition("The only version of a model cannot be deleted; delete the model.")
            if DEFAULT in kept.version_aliases:
                raise failed_precondition("The default version cannot be deleted; make another one the default first.")
            self._store.delete(f"{base}/versions/{version}")
            self._store.delete_below(f"{base}@{version}")

    def _put_version(self, base: str, version: str, model: Any) -> None:
        kept = v1.Model.pb()()
        kept.CopyFrom(model)
        kept.version_id = version
        kept.ClearField("version_aliases")
        kept.version_create_time.CopyFrom(self._clock.timestamp())
        kept.version_update_time.CopyFrom(kept.version_create_time)
        self._resources.put(f"{base}/versions/{version}", kept)

    def _change_version(self, base: str, version: str, change: Callable[[Any], Any]) -> None:
        def changed(kept: Any) -> None:
            change(kept)
            kept.version_update_time.CopyFrom(self._clock.timestamp())

        self._resources.change(f"{base}/versions/{version}", changed)

    def _give_aliases(self, base: str, version: str, given: Iterable[str], taken: Iterable[str]) -> None:
        """Every alias belongs to one version: giving it to one takes it from the others."""
        given, lost = list(given), set(taken)
        for model in self._versions(base):
            mine = model.version_id == version
            kept = [alias for alias in model.version_aliases if alias not in (lost if mine else given)]
            wanted = list(dict.fromkeys([*kept, *given])) if mine else kept
            if wanted != list(model.version_aliases):
                mask = FieldMask(paths=["version_aliases"])
                source = v1.Model.pb()(version_aliases=wanted)
                self._change_version(base, model.version_id, _merging(mask, source))

    def _versions(self, base: str) -> list[Any]:
        return self._store.list(base, KIND)

    def _seen(self, base: str, version: Any) -> Any:
        shared: Any = self._store.get(base)
        version.name = base
        FieldMask(paths=_SHARED).MergeMessage(shared, version, True, True)
        for key, value in shared.labels.items():
            if key not in version.labels:
                version.labels[key] = value
        later = max(shared, version, key=lambda part: part.update_time.ToNanoseconds())
        version.update_time.CopyFrom(later.update_time)
        version.etag = f"{shared.etag}-{version.etag}"
        return version


def _check_etag(current: str, given: str, versioned: bool) -> None:
    """An ETag has two parts, of the model and of the version; a change of one needs that part to be current."""
    if given and current.split("-")[versioned] != given.split("-")[-1 if versioned else 0]:
        raise aborted(f"Specified Model `etag`: `{given}` does not match server `etag`: `{current}`")


def _merging(mask: FieldMask, source: Any) -> Callable[[Any], Any]:
    return lambda kept: mask.MergeMessage(source, kept, True, True)


def _check_aliases(aliases: list[str]) -> None:
    wrong = [alias for alias in aliases if not _ALIAS.fullmatch(alias)]
    if wrong:
        says = f"{', '.join(wrong)}: an alias matches [a-z][a-zA-Z0-9-]{{0,126}}[a-z0-9]."
        raise invalid_fields({"version_aliases": says})
