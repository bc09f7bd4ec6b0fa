"""EndpointService: endpoints as resources. Nothing is deployed to them: this server serves no predictions."""

from collections.abc import Mapping
from typing import Any

from google.cloud import aiplatform_v1 as v1
from google.protobuf.empty_pb2 import Empty

from overnight.vertex_local.api.dispatch import Handler
from overnight.vertex_local.api.errors import ApiError, invalid_fields, unimplemented
from overnight.vertex_local.state.resource import check_id, new_id, require
from overnight.vertex_local.world import World

KIND = "google.cloud.aiplatform.v1.Endpoint"

_CHANGEABLE = ("display_name", "description", "labels", "traffic_split", "predict_request_response_logging_config")


class EndpointsService:
    """Create, get, list, update, delete; deploying is refused."""

    def __init__(self, world: World) -> None:
        self._world = world

    def handlers(self) -> Mapping[str, Handler]:
        """The methods served."""
        refused = {
            f"EndpointService/{name}": _refuse for name in ("DeployModel", "UndeployModel", "MutateDeployedModel")
        }
        return {
            "EndpointService/CreateEndpoint": self.create,
            "EndpointService/GetEndpoint": lambda request: self._world.resources.get(request.name),
            "EndpointService/ListEndpoints": self.list,
            "EndpointService/UpdateEndpoint": self.update,
            "EndpointService/DeleteEndpoint": self.delete,
            **refused,
        }

    def create(self, request: Any) -> Any:
        """The endpoint, by an operation that is over."""
        require(request, "endpoint.display_name")
        if request.endpoint.deployed_models:
            raise invalid_fields({"endpoint.deployed_models": "This field is set by DeployModel."})
        endpoint_id = request.endpoint_id or new_id()
        says = "An id has up to 63 of a-z, 0-9 and -, begins with a letter and does not end with -; or is a number."
        check_id(endpoint_id, r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?|\d{1,19}", "endpoint_id", says)
        made = self._world.resources.create(request.parent, "endpoints", request.endpoint, endpoint_id)
        metadata = v1.CreateEndpointOperationMetadata.pb()()
        return self._world.operations.done(made, made.name, metadata)

    def list(self, request: Any) -> Any:
        """A page of the location's endpoints; `endpoint` in the filter is the id."""
        extras = {"endpoint": lambda message: message.name.rsplit("/", 1)[1]}
        return self._world.resources.list(request, v1.ListEndpointsResponse.pb()(), KIND, extras)

    def update(self, request: Any) -> Any:
        """The endpoint with the fields of the mask changed."""
        frozen = [field.name for field in request.endpoint.DESCRIPTOR.fields if field.name not in _CHANGEABLE]
        return self._world.resources.update(request.endpoint, request.update_mask, frozen)

    def delete(self, request: Any) -> Any:
        """Nothing, by an operation that is over."""
        self._world.resources.delete(request.name)
        parent = request.name.rsplit("/", 2)[0]
        return self._world.operations.done(Empty(), parent, v1.DeleteOperationMetadata.pb()())


def _refuse(request: Any) -> ApiError:
    method = request.DESCRIPTOR.name.removesuffix("Request")
    raise unimplemented(f"EndpointService/{method} (models cannot be deployed; predict with a job instead)")
