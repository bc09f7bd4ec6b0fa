"""MetadataService: stores, schemas, artifacts, executions and contexts (ML Metadata)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from google.cloud import aiplatform_v1 as v1
from google.protobuf.empty_pb2 import Empty

from overnight.vertex_local.api.dispatch import Handler
from overnight.vertex_local.api.errors import invalid_fields
from overnight.vertex_local.services.lineage import Lineage
from overnight.vertex_local.state.filters import keep
from overnight.vertex_local.state.resource import check_id, new_id, require
from overnight.vertex_local.state.store import parent_of
from overnight.vertex_local.world import World

STORE_KIND = "google.cloud.aiplatform.v1.MetadataStore"
SCHEMA_KIND = "google.cloud.aiplatform.v1.MetadataSchema"

_ID = r"[a-z0-9][a-z0-9-]{0,127}"
_ID_SAYS = "An id has up to 128 of a-z, 0-9 and -, and does not begin with -."
_MOST_METADATA_BYTES = 200 * 1024
_SAMPLE = 100


@dataclass(frozen=True)
class _Kind:
    """What contexts, executions and artifacts differ in."""

    name: str
    """Artifact"""
    field: str
    """artifact"""
    collection: str
    """artifacts"""

    @property
    def full_name(self) -> str:
        return f"google.cloud.aiplatform.v1.{self.name}"

    def message(self, name: str) -> Any:
        """A message of the API, such as `ListArtifactsResponse`."""
        return getattr(v1, name.format(one=self.name, many=f"{self.name}s")).pb()()


KINDS = (
    _Kind("Artifact", "artifact", "artifacts"),
    _Kind("Execution", "execution", "executions"),
    _Kind("Context", "context", "contexts"),
)


class MetadataService:
    """The three kinds share their methods; `Lineage` has what connects them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lineage = Lineage(world)

    def handlers(self) -> Mapping[str, Handler]:
        """The methods served."""
        methods: dict[str, Handler] = {
            "CreateMetadataStore": self.create_store,
            "GetMetadataStore": lambda request: self._world.resources.get(request.name),
            "ListMetadataStores": self.list_stores,
            "DeleteMetadataStore": self.delete_store,
            "CreateMetadataSchema": self.create_schema,
            "GetMetadataSchema": lambda request: self._world.resources.get(request.name),
            "ListMetadataSchemas": self.list_schemas,
            **self._lineage.methods(),
        }
        for kind in KINDS:
            methods[f"Create{kind.name}"] = partial(self.create, kind)
            methods[f"Get{kind.name}"] = lambda request: self._world.resources.get(request.name)
            methods[f"List{kind.name}s"] = partial(self.list, kind)
            methods[f"Update{kind.name}"] = partial(self.update, kind)
            methods[f"Delete{kind.name}"] = partial(self.delete, kind)
            methods[f"Purge{kind.name}s"] = partial(self.purge, kind)
        return {f"MetadataService/{name}": handler for name, handler in methods.items()}

    def create_store(self, request: Any) -> Any:
        """The store, by an operation that is over."""
        store_id = request.metadata_store_id or new_id()
        check_id(store_id, _ID, "metadata_store_id", _ID_SAYS)
        made = self._world.resources.create(request.parent, "metadataStores", request.metadata_store, store_id)
        return self._world.operations.done(made, made.name, v1.CreateMetadataStoreOperationMetadata.pb()())

    def list_stores(self, request: Any) -> Any:
        """A page of the location's stores."""
        return self._world.resources.list(request, v1.ListMetadataStoresResponse.pb()(), STORE_KIND)

    def delete_store(self, request: Any) -> Any:
        """Nothing, by an operation that is over; everything in the store is gone."""
        with self._world.store.transaction():
            self._world.resources.delete(request.name)
            self._world.store.delete_below(request.name)
        return self._done(Empty(), parent_of(request.name), v1.DeleteMetadataStoreOperationMetadata)

    def create_schema(self, request: Any) -> Any:
        """The schema; this server keeps schemas, and holds no metadata to them."""
        require(request, "metadata_schema.schema")
        self._world.resources.get(request.parent)
        schema_id = request.metadata_schema_id or new_id()
        check_id(schema_id, _ID, "metadata_schema_id", _ID_SAYS)
        return self._world.resources.create(request.parent, "metadataSchemas", request.metadata_schema, schema_id)

    def list_schemas(self, request: Any) -> Any:
        """A page of the store's schemas."""
        return self._world.resources.list(request, v1.ListMetadataSchemasResponse.pb()(), SCHEMA_KIND)

    def create(self, kind: _Kind, request: Any) -> Any:
        """The new artifact, execution or context; its store must be there."""
        node_id = getattr(request, f"{kind.field}_id") or new_id()
        check_id(node_id, _ID, f"{kind.field}_id", _ID_SAYS)
        return self._put(kind, request.parent, node_id, getattr(request, kind.field))

    def list(self, kind: _Kind, request: Any) -> Any:
        """A page of a kind; the filter may ask for contexts (`in_context`, `parent_contexts`, `child_contexts`)."""
        self._world.resources.get(request.parent)
        response = kind.message("List{many}Response")
        return self._world.resources.list(request, response, kind.full_name, self._lineage.filter_extras())

    def update(self, kind: _Kind, request: Any) -> Any:
        """What it is now; with `allow_missing` it is created where there was none."""
        node = getattr(request, kind.field)
        _check_metadata(kind, node)
        with self._world.store.transaction():
            if request.allow_missing and self._world.store.find(node.name) is None:
                return self._put(kind, parent_of(node.name), node.name.rsplit("/", 1)[1], node)
            return self._world.resources.update(node, request.update_mask, frozen=("parent_contexts",))

    def delete(self, kind: _Kind, request: Any) -> Any:
        """Nothing, by an operation that is over; its events and associations are gone too."""
        self._forget(request.name, request.etag)
        return self._done(Empty(), parent_of(request.name), v1.DeleteOperationMetadata)

    def purge(self, kind: _Kind, request: Any) -> Any:
        """How many match the filter, by an operation that is over; they are deleted with `force` only."""
        require(request, "filter")
        nodes: Any = self._world.store.list(request.parent, kind.full_name)
        found = [node.name for node in keep(nodes, request.filter, self._lineage.filter_extras())]
        response = kind.message("Purge{many}Response")
        response.purge_count = len(found)
        if request.force:
            with self._world.store.transaction():
                for name in found:
                    self._forget(name, "")
        else:
            response.purge_sample.extend(found[:_SAMPLE])
        return self._world.operations.done(response, request.parent, kind.message("Purge{many}Metadata"))

    def _put(self, kind: _Kind, parent: str, node_id: str, node: Any) -> Any:
        _check_metadata(kind, node)
        fresh = type(node)()
        fresh.CopyFrom(node)
        if kind.name == "Context":
            fresh.ClearField("parent_contexts")
        with self._world.store.transaction():
            self._world.resources.get(parent)
            return self._world.resources.create(parent, kind.collection, fresh, node_id)

    def _forget(self, name: str, etag: str) -> None:
        with self._world.store.transaction():
            self._lineage.leave_children(name)
            self._world.resources.delete(name, etag)

    def _done(self, response: Any, parent: str, metadata: Any) -> Any:
        return self._world.operations.done(response, parent, metadata.pb()())


def ensure_default_store(world: World, location: str) -> str:
    """The name of the location's default store, which is made when it is not there, as pipelines do."""
    name = f"{location}/metadataStores/default"
    with world.store.transaction():
        if world.store.find(name) is None:
            world.resources.put(name, v1.MetadataStore.pb()())
    return name


def _check_metadata(kind: _Kind, node: Any) -> None:
    if node.HasField("metadata") and node.metadata.ByteSize() > _MOST_METADATA_BYTES:
        raise invalid_fields({f"{kind.field}.metadata": "The metadata can have up to 200 KB."})
