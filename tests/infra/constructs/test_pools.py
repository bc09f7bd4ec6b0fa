from typing import Any

from training_stack import resources, synthesized

POOL = "google_vertex_ai_persistent_resource"


def protected_off(google: dict[str, Any]) -> None:
    google["protect"] = False


def own_keys_off(google: dict[str, Any]) -> None:
    google["cmek"]["enabled"] = False


def fixed_and_second(google: dict[str, Any]) -> None:
    (pool,) = google["persistent_resources"]
    (first,) = pool["resource_pools"]
    del first["autoscaling_spec"]
    first["replica_count"] = 1
    cpu = {"machine_spec": {"machine_type": "n1-highcpu-16"}, "replica_count": 2, "usd_per_replica_hour": 0.3}
    pool["resource_pools"].append(cpu)


def two_versions(google: dict[str, Any]) -> None:
    (pool,) = google["persistent_resources"]
    google["persistent_resources"] = [pool, {**pool, "name": "night-a100-v2"}]


def disabled(google: dict[str, Any]) -> None:
    google["persistent_resources"][0]["enabled"] = False


def test_a_pool_is_written_as_the_provider_wants_it() -> None:
    assert resources(POOL)["night_a100_v1_pool"]["resource_pools"] == [
        {
            "id": "pool-0",
            "machine_spec": [
                {"machine_type": "a2-highgpu-1g", "accelerator_type": "NVIDIA_TESLA_A100", "accelerator_count": 1}
            ],
            "disk_spec": [{"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 500}],
            "replica_count": "1",
            "autoscaling_spec": [{"min_replica_count": "1", "max_replica_count": "4"}],
        }
    ]


def test_a_pool_never_carries_labels_for_a_changed_one_would_destroy_it() -> None:
    for edit in (two_versions, fixed_and_second, protected_off):
        assert all("labels" not in pool for pool in resources(POOL, edit).values())


def test_jobs_may_run_under_their_own_account() -> None:
    (runtime,) = resources(POOL)["night_a100_v1_pool"]["resource_runtime_spec"]
    assert runtime == {"service_account_spec": [{"enable_custom_service_account": True}]}


def test_the_live_count_of_each_pool_is_ignored_and_destruction_refused() -> None:
    pool = resources(POOL, fixed_and_second)["night_a100_v1_pool"]
    assert pool["lifecycle"] == {
        "ignore_changes": ["resource_pools[0].replica_count", "resource_pools[1].replica_count"],
        "prevent_destroy": True,
    }
    assert pool["deletion_policy"] == "PREVENT"
    assert [machines["replica_count"] for machines in pool["resource_pools"]] == ["1", "2"]
    assert "accelerator_type" not in pool["resource_pools"][1]["machine_spec"][0]


def test_an_unprotected_pool_can_be_destroyed() -> None:
    pool = resources(POOL, protected_off)["night_a100_v1_pool"]
    assert pool["lifecycle"]["prevent_destroy"] is False
    assert pool["deletion_policy"] == "DELETE"


def test_a_pool_is_encrypted_with_the_training_key_only_when_asked() -> None:
    (spec,) = resources(POOL)["night_a100_v1_pool"]["encryption_spec"]
    assert spec["kms_key_name"].endswith("/keyRings/example-overnight/cryptoKeys/training")
    assert "encryption_spec" not in resources(POOL, own_keys_off)["night_a100_v1_pool"]


def test_a_new_version_stands_beside_the_old_one() -> None:
    assert set(resources(POOL, two_versions)) == {"night_a100_v1_pool", "night_a100_v2_pool"}


def test_a_disabled_pool_is_not_made_and_not_output() -> None:
    assert resources(POOL, disabled) == {}
    assert synthesized(disabled)["output"]["persistent_resources"]["value"] == {}


def test_the_output_holds_what_a_job_must_ask_for() -> None:
    assert synthesized()["output"]["persistent_resources"]["value"]["night-a100-v1"] == {
        "id": f"${{{POOL}.night_a100_v1_pool.id}}",
        "resource_pools": [
            {
                "machine_spec": {
                    "machine_type": "a2-highgpu-1g",
                    "accelerator_type": "NVIDIA_TESLA_A100",
                    "accelerator_count": 1,
                },
                "disk_spec": {"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 500},
                "max_replica_count": 4,
            }
        ],
    }
