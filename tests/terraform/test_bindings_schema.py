"""The schemas, rebuilt from the bindings package."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def resources(schemas: Path) -> dict[str, Any]:
    providers = json.loads(schemas.read_text())["providers"]
    both = providers["google"]["resource_schemas"] | providers["google-beta"]["resource_schemas"]
    return {name: each["block"] for name, each in both.items()}


@pytest.mark.parametrize(
    ("resource_type", "name", "expected"),
    [
        ("google_storage_bucket", "name", {"type": "string", "required": True}),
        ("google_storage_bucket", "labels", {"type": ["map", "string"], "optional": True}),
        ("google_storage_bucket", "url", {"type": "string", "computed": True}),
        ("google_storage_bucket", "uniform_bucket_level_access", {"type": "bool", "optional": True, "computed": True}),
        ("google_storage_bucket", "project_number", {"type": "number", "computed": True}),
        ("google_project_iam_custom_role", "permissions", {"type": ["set", "string"], "required": True}),
        ("google_monitoring_alert_policy", "notification_channels", {"type": ["list", "string"], "optional": True}),
        ("google_colab_schedule", "max_concurrent_run_count", {"type": "string", "required": True}),
        ("google_project_service_identity", "member", {"type": "string", "computed": True}),
    ],
)
def test_an_attribute_keeps_its_type_and_flags(
    resource_type: str, name: str, expected: dict[str, Any], resources: dict[str, Any]
) -> None:
    assert resources[resource_type]["attributes"][name] == expected


@pytest.mark.parametrize(
    ("resource_type", "path", "nesting", "least", "most"),
    [
        ("google_storage_bucket", ["versioning"], "list", 0, 1),
        ("google_storage_bucket", ["lifecycle_rule"], "list", 0, None),
        ("google_storage_bucket", ["lifecycle_rule", "condition"], "set", 1, 1),
        ("google_artifact_registry_repository", ["cleanup_policies"], "set", 0, None),
        ("google_vertex_ai_persistent_resource", ["resource_pools"], "list", 1, None),
        ("google_vertex_ai_persistent_resource", ["resource_pools", "machine_spec"], "list", 1, 1),
        ("google_cloudbuild_trigger", ["timeouts"], "single", 0, None),
        ("google_project_service_identity", ["timeouts"], "single", 0, None),
    ],
)
def test_a_block_keeps_its_nesting(
    resource_type: str, path: list[str], nesting: str, least: int, most: int | None, resources: dict[str, Any]
) -> None:
    block = resources[resource_type]
    for name in path:
        kind = block["block_types"][name]
        block = kind["block"]
    assert (kind["nesting_mode"], kind.get("min_items", 0), kind.get("max_items")) == (nesting, least, most)


def test_documented_values_and_defaults_are_kept(resources: dict[str, Any]) -> None:
    mode = resources["google_artifact_registry_repository"]["attributes"]["mode"]
    assert mode["default"] == "STANDARD_REPOSITORY"
    assert set(mode["allowed"]) == {"STANDARD_REPOSITORY", "VIRTUAL_REPOSITORY", "REMOTE_REPOSITORY"}


def test_a_list_of_objects_that_the_api_alone_fills_is_an_attribute(resources: dict[str, Any]) -> None:
    primary = resources["google_kms_crypto_key"]["attributes"]["primary"]
    assert primary == {"type": ["list", ["object", {"name": "string", "state": "string"}]], "computed": True}
