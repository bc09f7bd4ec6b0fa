"""ModelService: the model registry with versions, aliases and evaluations."""

from collections.abc import Mapping
from typing import Any

from google.cloud import aiplatform_v1 as v1
from google.protobuf.empty_pb2 import Empty

from overnight.vertex_local.api.dispatch import Handler
from overnight.vertex_local.api.errors import failed_precondition, invalid, invalid_fields
from overnight.vertex_local.services.evaluations import Evaluations
from overnight.vertex_local.services.model_registry import KIND, ModelRegistry
from overnight.vertex_local.state.resource import check_id, is_field, new_id, require
from overnight.vertex_local.state.store import parent_of
from overnight.vertex_local.world import World

_OF_MODEL = frozenset(("display_name", "description", "labels"))
_OF_VERSION = frozenset(("version_description", "labels"))


class ModelsService:
    """The methods; the registry keeps the rules of versions and aliases."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._registry = ModelRegistry(world)
        self._evaluations = Evaluations(world, self._registry)

    def handlers(self) -> Mapping[str, Handler]:
        """The methods served."""
        methods = {
            "UploadModel": self.upload,
            "CopyModel": self.copy,
            "GetModel": lambda request: self._registry.get(request.name),
            "ListModels": self.list,
            "ListModelVersions": self.list_versions,
            "UpdateModel": self.update,
            "MergeVersionAliases": self.merge_aliases,
            "DeleteModel": self.delete,
            "DeleteModelVersion": self.delete_version,
            **self._evaluations.methods(),
        }
        return {f"ModelService/{name}": handler for name, handler in methods.items()}

    def upload(self, request: Any) -> Any:
        """The names of the new model or version, by an operation that is over."""
        require(request, "model.display_name")
        _check_model(request.model)
        base, version = self._add(request.parent, request.parent_model, request.model_id, request.model)
        response = v1.UploadModelResponse.pb()(model=base, model_version_id=version)
        return self._world.operations.done(response, base, v1.UploadModelOperationMetadata.pb()())

    def copy(self, request: Any) -> Any:
        """As `upload`, from a version that is there."""
        source = self._registry.get(request.source_model)
        model = type(source)()
        model.CopyFrom(source)
        for field in ("version_aliases", "version_id", "etag"):
            model.ClearField(field)
        model.original_model_info.model = source.name
        base, version = self._add(request.parent, request.parent_model, request.model_id, model)
        response = v1.CopyModelResponse.pb()(model=base, model_version_id=version)
        return self._world.operations.done(response, base, v1.CopyModelOperationMetadata.pb()())

    def list(self, request: Any) -> Any:
        """A page of the location's models, each as its default version."""
        rows = [
            (number, self._registry.default(base.name)) for number, base in self._world.store.rows(request.parent, KIND)
        ]
        extras = {"model": _model_id, "base_model_name": lambda _: ""}
        return self._world.resources.fill(request, v1.ListModelsResponse.pb()(), rows, extras)

    def list_versions(self, request: Any) -> Any:
        """A page of a model's versions, newest first."""
        rows = self._registry.versions(request.name)
        return self._world.resources.fill(request, v1.ListModelVersionsResponse.pb()(), rows)

    def update(self, request: Any) -> Any:
        """The model after the change. A name with `@version` changes the version, any other the model."""
        require(request, "update_mask.paths")
        versioned = "@" in request.model.name and not request.model.name.endswith("@-")
        allowed = _OF_VERSION if versioned else _OF_MODEL
        for path in request.update_mask.paths:
            field = path.split(".")[0]
            if field not in _OF_MODEL | _OF_VERSION or not is_field(request.model, path):
                raise invalid_fields({f"update_mask.{path}": "This field cannot be changed."})
            if field not in allowed:
                raise failed_precondition(f"{field} is not a field of {request.model.name}: update them separately.")
        return self._registry.update(request.model, request.update_mask, versioned)

    def merge_aliases(self, request: Any) -> Any:
        """The version with aliases added, and those with a `-` taken away."""
        require(request, "version_aliases")
        if "@" not in request.name:
            raise invalid_fields({"name": "A version is needed, such as models/1@2."})
        return self._registry.merge_aliases(request.name, list(request.version_aliases))

    def delete(self, request: Any) -> Any:
        """Nothing, by an operation that is over; all versions and evaluations are gone."""
        if "@" in request.name:
            raise invalid_fields({"name": "DeleteModel takes a model without a version; see DeleteModelVersion."})
        self._registry.delete(request.name)
        return self._deleted(request.name)

    def delete_version(self, request: Any) -> Any:
        """Nothing, by an operation that is over."""
        if "@" not in request.name:
            raise invalid_fields({"name": "A version is needed, such as models/1@2."})
        self._registry.delete_version(request.name)
        return self._deleted(request.name)

    def _add(self, parent: str, parent_model: str, model_id: str, model: Any) -> tuple[str, str]:
        if not parent_model:
            says = "An id has up to 63 of a-z, 0-9, _ and -, and does not begin with a digit or -."
            if model_id:
                check_id(model_id, r"[a-z_][a-z0-9_-]{0,62}", "model_id", says)
            return self._registry.add(f"{parent}/models/{model_id or new_id()}", model, new=True)
        base = parent_model.partition("@")[0]
        if model_id:
            raise invalid("Only one of model_id and parent_model can be set.")
        if parent_of(base) != parent:
            raise invalid_fields({"parent_model": f"The model must lie in {parent}."})
        return self._registry.add(base, model, new=False)

    def _deleted(self, name: str) -> Any:
        return self._world.operations.done(Empty(), parent_of(name), v1.DeleteOperationMetadata.pb()())


def _check_model(model: Any) -> None:
    problems = {}
    if model.HasField("container_spec") and not model.container_spec.image_uri:
        problems["model.container_spec.image_uri"] = "Required field is not set."
    if model.artifact_uri and not model.artifact_uri.startswith("gs://"):
        problems["model.artifact_uri"] = "A folder in Cloud Storage is needed: gs://bucket/path."
    if len(model.display_name) > 128:
        problems["model.display_name"] = "The name can be up to 128 characters long."
    if problems:
        raise invalid_fields(problems)


def _model_id(model: Any) -> str:
    return str(model.name.rsplit("/", 1)[1])
