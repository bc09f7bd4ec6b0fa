"""TensorboardService: tensorboards, experiments, runs and time series; their data is in `tensorboard_data`."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from google.cloud import aiplatform_v1 as v1
from google.protobuf.empty_pb2 import Empty

from overnight.vertex_local.api.dispatch import Handler
from overnight.vertex_local.api.errors import exists, invalid_fields
from overnight.vertex_local.services.tensorboard_data import TensorboardData
from overnight.vertex_local.state.resource import check_id, new_id, require
from overnight.vertex_local.state.store import parent_of
from overnight.vertex_local.world import World

_PACKAGE = "google.cloud.aiplatform.v1"
_ID = r"[a-z0-9][a-z0-9-]{0,127}"
_ID_SAYS = "An id has up to 128 of a-z, 0-9 and -, and does not begin with -."

LEVELS = {
    "TensorboardExperiment": ("tensorboard_experiment", "experiments"),
    "TensorboardRun": ("tensorboard_run", "runs"),
    "TensorboardTimeSeries": ("tensorboard_time_series", "timeSeries"),
}
"""Message -> field of its requests, collection: each level lies in the one before, the first in a tensorboard."""

_NAMED_ONCE = ("TensorboardRun", "TensorboardTimeSeries")
"""Kinds whose display names must differ within their parent (API reference)."""


class TensorboardService:
    """The four levels share their methods."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._data = TensorboardData(world)

    def handlers(self) -> Mapping[str, Handler]:
        """The methods served."""
        methods: dict[str, Handler] = {
            "CreateTensorboard": self.create_tensorboard,
            "GetTensorboard": self.get_tensorboard,
            "ListTensorboards": self.list_tensorboards,
            "UpdateTensorboard": self.update_tensorboard,
            "BatchCreateTensorboardRuns": partial(self.create_many, "TensorboardRun"),
            "BatchCreateTensorboardTimeSeries": partial(self.create_many, "TensorboardTimeSeries"),
            "DeleteTensorboard": self.delete,
            **self._data.methods(),
        }
        for kind in LEVELS:
            many = kind if kind.endswith("Series") else f"{kind}s"
            methods[f"Create{kind}"] = partial(self.create, kind)
            methods[f"Get{kind}"] = lambda request: self._world.resources.get(request.name)
            methods[f"List{many}"] = partial(self.list, kind, f"List{many}Response")
            methods[f"Update{kind}"] = partial(self.update, kind)
            methods[f"Delete{kind}"] = self.delete
        return {f"TensorboardService/{name}": handler for name, handler in methods.items()}

    def create_tensorboard(self, request: Any) -> Any:
        """The tensorboard, by an operation that is over. A new default one takes the place of the old."""
        require(request, "tensorboard.display_name")
        with self._world.store.transaction():
            if request.tensorboard.is_default:
                self._unset_default(request.parent)
            made = self._world.resources.create(request.parent, "tensorboards", request.tensorboard)
        return self._world.operations.done(made, made.name, v1.CreateTensorboardOperationMetadata.pb()())

    def get_tensorboard(self, request: Any) -> Any:
        """The tensorboard with the number of its runs."""
        return self._counted(self._world.resources.get(request.name))

    def list_tensorboards(self, request: Any) -> Any:
        """A page of the location's tensorboards."""
        rows = self._world.store.rows(request.parent, f"{_PACKAGE}.Tensorboard")
        counted = [(number, self._counted(board)) for number, board in rows]
        return self._world.resources.fill(request, v1.ListTensorboardsResponse.pb()(), counted)

    def update_tensorboard(self, request: Any) -> Any:
        """The tensorboard, by an operation that is over."""
        with self._world.store.transaction():
            if request.tensorboard.is_default and "is_default" in request.update_mask.paths:
                self._unset_default(parent_of(request.tensorboard.name))
            frozen = ("encryption_spec", "blob_storage_path_prefix", "run_count")
            made = self._world.resources.update(request.tensorboard, request.update_mask, frozen)
        return self._world.operations.done(made, made.name, v1.UpdateTensorboardOperationMetadata.pb()())

    def create(self, kind: str, request: Any) -> Any:
        """The new experiment, run or time series."""
        field, collection = LEVELS[kind]
        item = getattr(request, field)
        item_id = getattr(request, f"{field}_id")
        if kind == "TensorboardTimeSeries":
            require(request, f"{field}.display_name", f"{field}.value_type")
            item_id = item_id or new_id()
        else:
            require(request, f"{field}_id")
        check_id(item_id, _ID, f"{field}_id", _ID_SAYS)
        with self._world.store.transaction():
            self._world.resources.get(request.parent)
            self._check_display_name(kind, request.parent, item)
            return self._world.resources.create(request.parent, collection, item, item_id)

    def create_many(self, kind: str, request: Any) -> Any:
        """All of the runs or time series, or none."""
        field, _ = LEVELS[kind]
        many = field if field.endswith("series") else f"{field}s"
        response = getattr(v1, f"BatchCreate{kind if kind.endswith('Series') else kind + 's'}Response").pb()()
        with self._world.store.transaction():
            for number, part in enumerate(request.requests):
                if not (part.parent == request.parent or part.parent.startswith(f"{request.parent}/")):
                    raise invalid_fields({f"requests[{number}].parent": f"It must be {request.parent} or in it."})
                getattr(response, many).append(self.create(kind, part))
        return response

    def list(self, kind: str, response: str, request: Any) -> Any:
        """A page of what lies directly under the parent."""
        self._world.resources.get(request.parent)
        return self._world.resources.list(request, getattr(v1, response).pb()(), f"{_PACKAGE}.{kind}")

    def update(self, kind: str, request: Any) -> Any:
        """The experiment, run or time series after the change."""
        item = getattr(request, LEVELS[kind][0])
        frozen = ("source", "value_type", "plugin_name", "metadata")
        return self._world.resources.update(item, request.update_mask, frozen)

    def delete(self, request: Any) -> Any:
        """Nothing, by an operation that is over; everything below is gone too."""
        with self._world.store.transaction():
            self._world.resources.delete(request.name)
            self._world.store.delete_below(request.name)
        metadata = v1.DeleteOperationMetadata.pb()()
        return self._world.operations.done(Empty(), "/".join(request.name.split("/")[:4]), metadata)

    def _counted(self, board: Any) -> Any:
        store = self._world.store
        experiments = store.list(board.name, f"{_PACKAGE}.TensorboardExperiment")
        board.run_count = sum(len(store.list(e.name, f"{_PACKAGE}.TensorboardRun")) for e in experiments)
        return board

    def _check_display_name(self, kind: str, parent: str, item: Any) -> None:
        if kind not in _NAMED_ONCE or not item.display_name:
            return
        for other in self._world.store.list(parent, f"{_PACKAGE}.{kind}"):
            if other.display_name == item.display_name:
                raise exists(f"{other.name} (display name {item.display_name})")

    def _unset_default(self, location: str) -> None:
        for other in self._world.store.list(location, f"{_PACKAGE}.Tensorboard"):
            if other.is_default:
                self._world.resources.change(other.name, lambda kept: kept.ClearField("is_default"))
