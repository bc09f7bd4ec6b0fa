# ruff: noqa: N802 (the methods' names are the protocol's)
"""The provider as Terraform calls it: each request to one function of planning, validation or operations."""

import json
from pathlib import Path
from typing import Any

from tf.gen import tfplugin_pb2 as pb
from tf.gen import tfplugin_pb2_grpc as rpc

from terraform.emulator import planning, schema, validation, wire
from terraform.emulator.operations import Kind, Refused
from terraform.emulator.rules import NO_RULE, Rule


class Provider(rpc.ProviderServicer):
    """One of the two providers, with its schemas, on one emulated project."""

    def __init__(self, document: dict[str, Any], rules: dict[str, Rule], cloud: Path) -> None:
        self._rules, self._cloud = rules, cloud
        self._resources = document["resource_schemas"]
        self._data_sources = document.get("data_source_schemas", {})
        self._settings: dict[str, Any] = {}
        self._schemas = pb.GetProviderSchema.Response(
            provider=wire.schema_message(document["provider"]),
            resource_schemas={name: wire.schema_message(each) for name, each in self._resources.items()},
            data_source_schemas={name: wire.schema_message(each) for name, each in self._data_sources.items()},
            server_capabilities=pb.ServerCapabilities(plan_destroy=False, get_provider_schema_optional=True),
        )

    def _resource(self, name: str) -> Kind:
        block = self._resources[name]["block"]
        return Kind(name, block, self._rules.get(name, NO_RULE), self._cloud, self._settings)

    def _data_source(self, name: str) -> Kind:
        block = self._data_sources[name]["block"]
        return Kind(name, block, self._rules.get(f"data.{name}", NO_RULE), self._cloud, self._settings)

    def GetProviderSchema(self, request: Any, context: Any) -> Any:
        return self._schemas

    def ValidateProviderConfig(self, request: Any, context: Any) -> Any:
        return pb.ValidateProviderConfig.Response()

    def ConfigureProvider(self, request: Any, context: Any) -> Any:
        self._settings = wire.unpack(request.config) or {}
        return pb.ConfigureProvider.Response()

    def ValidateResourceConfig(self, request: Any, context: Any) -> Any:
        kind = self._resource(request.type_name)
        found = validation.problems(kind.block, kind.rule, wire.unpack(request.config) or {})
        return pb.ValidateResourceConfig.Response(
            diagnostics=[wire.diagnostic(each.summary, each.detail, each.steps) for each in found]
        )

    def ValidateDataResourceConfig(self, request: Any, context: Any) -> Any:
        return pb.ValidateDataResourceConfig.Response()

    def PlanResourceChange(self, request: Any, context: Any) -> Any:
        kind = self._resource(request.type_name)
        prior, proposed = wire.unpack(request.prior_state), wire.unpack(request.proposed_new_state)
        places: list[Any] = []
        planned = proposed
        if proposed is not None and prior is None:
            planned = planning.plan_create(kind.block, kind.rule, proposed, self._settings)
        elif proposed is not None:
            planned, places = planning.plan_update(kind.block, kind.rule, prior, proposed, self._settings)
        # Like the Google provider: defaults and computed values inside blocks fit no stricter type system.
        return pb.PlanResourceChange.Response(
            planned_state=wire.pack(planned),
            requires_replace=[wire.path(steps) for steps in places],
            legacy_type_system=True,
        )

    def ApplyResourceChange(self, request: Any, context: Any) -> Any:
        kind = self._resource(request.type_name)
        prior, planned = wire.unpack(request.prior_state), wire.unpack(request.planned_state)
        diagnostics = []
        new = prior
        try:
            if planned is None:
                kind.delete(prior)
                new = None
            else:
                new = kind.create(planned) if prior is None else kind.update(planned)
        except Refused as refusal:
            diagnostics = [wire.diagnostic(str(refusal))]
        return pb.ApplyResourceChange.Response(
            new_state=wire.pack(new), diagnostics=diagnostics, legacy_type_system=True
        )

    def ReadResource(self, request: Any, context: Any) -> Any:
        state = wire.unpack(request.current_state)
        try:
            found = self._resource(request.type_name).read(state)
        except Refused as refusal:
            return pb.ReadResource.Response(
                new_state=request.current_state, diagnostics=[wire.diagnostic(str(refusal))]
            )
        return pb.ReadResource.Response(new_state=wire.pack(found))

    def UpgradeResourceState(self, request: Any, context: Any) -> Any:
        state = json.loads(request.raw_state.json)
        names = schema.names(self._resources[request.type_name]["block"])
        return pb.UpgradeResourceState.Response(upgraded_state=wire.pack({name: state.get(name) for name in names}))

    def ImportResourceState(self, request: Any, context: Any) -> Any:
        try:
            found = self._resource(request.type_name).find(request.id)
        except Refused as refusal:
            return pb.ImportResourceState.Response(diagnostics=[wire.diagnostic(str(refusal))])
        imported = pb.ImportResourceState.ImportedResource(type_name=request.type_name, state=wire.pack(found))
        return pb.ImportResourceState.Response(imported_resources=[imported])

    def MoveResourceState(self, request: Any, context: Any) -> Any:
        return pb.MoveResourceState.Response(diagnostics=[wire.diagnostic("moves between types are not emulated")])

    def ReadDataSource(self, request: Any, context: Any) -> Any:
        kind = self._data_source(request.type_name)
        wanted = planning.plan_create(kind.block, kind.rule, wire.unpack(request.config), self._settings)
        try:
            return pb.ReadDataSource.Response(state=wire.pack(kind.look_up(wanted)))
        except Refused as refusal:
            return pb.ReadDataSource.Response(diagnostics=[wire.diagnostic(str(refusal))])

    def GetFunctions(self, request: Any, context: Any) -> Any:
        return pb.GetFunctions.Response()

    def StopProvider(self, request: Any, context: Any) -> Any:
        return pb.StopProvider.Response()
