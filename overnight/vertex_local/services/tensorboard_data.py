"""The points of TensorBoard time series: written once, read whole, thinned out, by page, or blob by blob."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.api.dispatch import Handler
from overnight.vertex_local.api.errors import invalid, invalid_fields
from overnight.vertex_local.state.filters import keep
from overnight.vertex_local.state.paging import page
from overnight.vertex_local.state.resource import new_id, require
from overnight.vertex_local.world import World

_POINT = "time series point"
_BLOB = "time series blob"

DEFAULT_POINTS = 1000
"""Points that ReadTensorboardTimeSeriesData answers when the request names no number (API reference)."""


class TensorboardData:
    """A point is a link from its time series to its step, with the message as payload."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._store = world.store

    def methods(self) -> Mapping[str, Handler]:
        """The methods of TensorboardService that are about data."""
        return {
            "WriteTensorboardRunData": self.write_run,
            "WriteTensorboardExperimentData": self.write_experiment,
            "ReadTensorboardTimeSeriesData": self.read,
            "BatchReadTensorboardTimeSeriesData": self.read_many,
            "ExportTensorboardTimeSeriesData": self.export,
            "ReadTensorboardBlobData": self.read_blobs,
            "ReadTensorboardSize": self.size,
        }

    def write_run(self, request: Any) -> Any:
        """Add points to time series of one run, all or none."""
        with self._store.transaction():
            self._write_run(request)
        return v1.WriteTensorboardRunDataResponse.pb()()

    def write_experiment(self, request: Any) -> Any:
        """Add points to time series of several runs of one experiment, all or none."""
        require(request, "write_run_data_requests")
        with self._store.transaction():
            for number, part in enumerate(request.write_run_data_requests):
                if not part.tensorboard_run.startswith(f"{request.tensorboard_experiment}/runs/"):
                    field = f"write_run_data_requests[{number}].tensorboard_run"
                    raise invalid_fields({field: f"It must be a run of {request.tensorboard_experiment}."})
                self._write_run(part)
        return v1.WriteTensorboardExperimentDataResponse.pb()()

    def read(self, request: Any) -> Any:
        """A time series, thinned out to `max_data_points` at even distances; the last point is always there."""
        series = self._store.get(request.tensorboard_time_series)
        points = keep(self._points(series), request.filter)
        most = request.max_data_points or DEFAULT_POINTS
        if most < 0:
            raise invalid("max_data_points must not be negative.")
        data = _data(series, thinned(points, most))
        return v1.ReadTensorboardTimeSeriesDataResponse.pb()(time_series_data=data)

    def read_many(self, request: Any) -> Any:
        """Whole time series of one tensorboard."""
        require(request, "time_series")
        response = v1.BatchReadTensorboardTimeSeriesDataResponse.pb()()
        for name in request.time_series:
            if not name.startswith(f"{request.tensorboard}/"):
                raise invalid_fields({"time_series": f"{name} is not in {request.tensorboard}."})
            series = self._store.get(name)
            response.time_series_data.append(_data(series, self._points(series)))
        return response

    def export(self, request: Any) -> Any:
        """A page of the points, in order of steps unless `order_by` says otherwise."""
        points = self._points(self._store.get(request.tensorboard_time_series))
        rows = list(enumerate(keep(points, request.filter)))
        scope = f"{request.tensorboard_time_series}\n{request.filter}"
        found, token = page(rows, request.order_by or "step", request.page_size, request.page_token, scope)
        return v1.ExportTensorboardTimeSeriesDataResponse.pb()(time_series_data_points=found, next_page_token=token)

    def read_blobs(self, request: Any) -> Iterator[Any]:
        """The blobs of a time series, or those that are named, one message each."""
        self._store.get(request.time_series)
        wanted = set(request.blob_ids)
        for blob_id, data in self._store.linked(_BLOB, request.time_series):
            if not wanted or blob_id in wanted:
                yield v1.ReadTensorboardBlobDataResponse.pb()(blobs=[v1.TensorboardBlob.pb()(id=blob_id, data=data)])

    def size(self, request: Any) -> Any:
        """The bytes of all points and blobs of a tensorboard."""
        self._store.get(request.tensorboard)
        kind = "google.cloud.aiplatform.v1.TensorboardTimeSeries"
        names = [name for name in self._store.names(kind) if name.startswith(f"{request.tensorboard}/")]
        found = sum(
            len(data) for name in names for link in (_POINT, _BLOB) for _, data in self._store.linked(link, name)
        )
        return v1.ReadTensorboardSizeResponse.pb()(storage_size_byte=found)

    def _write_run(self, request: Any) -> None:
        require(request, "tensorboard_run", "time_series_data")
        self._store.get(request.tensorboard_run)
        for data in request.time_series_data:
            name = f"{request.tensorboard_run}/timeSeries/{data.tensorboard_time_series_id}"
            series: Any = self._store.get(name)
            if data.value_type != series.value_type:
                raise invalid(f"The value type of {name} is another one.")
            for point in data.values:
                self._keep_blobs(name, point)
                self._store.link(_POINT, name, str(point.step), point.SerializeToString(deterministic=True))
            self._world.resources.change(name, _extended_by(data.values))

    def _keep_blobs(self, series: str, point: Any) -> None:
        """Put the data of blobs aside: reading a time series answers their ids."""
        for blob in point.blobs.values if point.HasField("blobs") else ():
            blob.id = blob.id or new_id()
            self._store.link(_BLOB, series, blob.id, blob.data)
            blob.ClearField("data")

    def _points(self, series: Any) -> list[Any]:
        rows = self._store.linked(_POINT, series.name)
        points = [v1.TimeSeriesDataPoint.pb().FromString(payload) for _, payload in rows]
        return sorted(points, key=lambda point: point.step)


def thinned(points: Sequence[Any], most: int) -> list[Any]:
    """At most `most` of the points, evenly spread, the last one among them."""
    if len(points) <= most:
        return list(points)
    return [points[(number + 1) * len(points) // most - 1] for number in range(most)]


def _data(series: Any, points: Sequence[Any]) -> Any:
    return v1.TimeSeriesData.pb()(
        tensorboard_time_series_id=series.name.rsplit("/", 1)[1], value_type=series.value_type, values=points
    )


def _extended_by(points: Sequence[Any]) -> Callable[[Any], None]:
    return lambda series: _extend(series.metadata, points)


def _extend(metadata: Any, points: Sequence[Any]) -> None:
    for point in points:
        metadata.max_step = max(metadata.max_step, point.step)
        if point.wall_time.ToNanoseconds() > metadata.max_wall_time.ToNanoseconds():
            metadata.max_wall_time.CopyFrom(point.wall_time)
        if point.HasField("blobs"):
            longest = max(metadata.max_blob_sequence_length, len(point.blobs.values))
            metadata.max_blob_sequence_length = longest
