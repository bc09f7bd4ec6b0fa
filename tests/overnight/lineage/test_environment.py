import importlib.metadata

from overnight.lineage.environment import python_environment, with_digest


def test_the_environment_names_what_is_installed_the_same_each_time():
    first, second = python_environment(), python_environment()
    assert first == second
    assert first["packages"]["ruamel-yaml"] == importlib.metadata.version("ruamel.yaml")
    assert list(first["packages"]) == sorted(first["packages"])


def test_another_version_is_another_digest():
    environment = python_environment()
    changed = {**environment, "packages": {**environment["packages"], "numpy": "0"}}
    assert with_digest(environment)["sha256"] == environment["sha256"]
    assert with_digest(changed)["sha256"] != environment["sha256"]
