"""Evaluations of model versions, and their slices: imported, never computed here."""

from collections.abc import Mapping
from typing import Any

from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.api.dispatch import Handler
from overnight.vertex_local.services.model_registry import ModelRegistry
from overnight.vertex_local.state.resource import new_id, require
from overnight.vertex_local.world import World

KIND = "google.cloud.aiplatform.v1.ModelEvaluation"
SLICE_KIND = "google.cloud.aiplatform.v1.ModelEvaluationSlice"


class Evaluations:
    """Kept under the version they belong to: `<model>@<number>/evaluations/<id>`."""

    def __init__(self, world: World, registry: ModelRegistry) -> None:
        self._world = world
        self._registry = registry

    def methods(self) -> Mapping[str, Handler]:
        """The methods of ModelService that are about evaluations."""
        return {
            "ImportModelEvaluation": self.add,
            "GetModelEvaluation": lambda request: self._world.resources.get(self._canonical(request.name)),
            "ListModelEvaluations": self.list,
            "BatchImportModelEvaluationSlices": self.add_slices,
            "GetModelEvaluationSlice": lambda request: self._world.resources.get(self._canonical(request.name)),
            "ListModelEvaluationSlices": self.list_slices,
        }

    def add(self, request: Any) -> Any:
        """The evaluation with its name and time."""
        require(request, "model_evaluation.metrics")
        base, version = self._registry.locate(request.parent)
        return self._world.resources.create(f"{base}@{version}", "evaluations", request.model_evaluation)

    def list(self, request: Any) -> Any:
        """A page of a version's evaluations."""
        base, version = self._registry.locate(request.parent)
        request.parent = f"{base}@{version}"
        return self._world.resources.list(request, v1.ListModelEvaluationsResponse.pb()(), KIND)

    def add_slices(self, request: Any) -> Any:
        """The names of the slices, all of which are kept or none."""
        require(request, "model_evaluation_slices")
        parent = self._canonical(request.parent)
        names = []
        with self._world.store.transaction():
            self._world.resources.get(parent)
            for part in request.model_evaluation_slices:
                names.append(self._world.resources.put(f"{parent}/slices/{new_id()}", part).name)
        return v1.BatchImportModelEvaluationSlicesResponse.pb()(imported_model_evaluation_slices=names)

    def list_slices(self, request: Any) -> Any:
        """A page of an evaluation's slices; the filter may use `slice.dimension` and `slice.value`."""
        request.parent = self._canonical(request.parent)
        self._world.resources.get(request.parent)
        return self._world.resources.list(request, v1.ListModelEvaluationSlicesResponse.pb()(), SLICE_KIND)

    def _canonical(self, name: str) -> str:
        """The name with the version's number, whatever stood there."""
        model, _, rest = name.partition("/evaluations/")
        base, version = self._registry.locate(model)
        return f"{base}@{version}/evaluations/{rest}"
