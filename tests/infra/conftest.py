"""Real Terraform over the synthesized stacks: one synthesis, one emulated project, one summary at the end."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import terraform_variants
from terraform import launch
from terraform_house import STACKS, Project, Snapshot
from terraform_inventory import Plans, inventory
from terraform_summary import RESOURCES, Counts, show_summary
from terraform_variants import synthesize, write_configurations

MADE_BY_HAND = {
    "google_storage_bucket": ["acme-vision-prod-terraform-state"],
    "google_secret_manager_secret": ["projects/acme-vision-prod/secrets/github-token"],
}
"""What config/example.yaml names and no stack creates: the state's bucket, the GitHub token."""
ON_PROJECT = {"test_cdktn.py", "test_import.py", "test_inventory.py", "test_policies.py", "test_validate.py"}
"""Files of this folder whose tests use the emulated project, beside all of lifecycle/. The command's tests do, too, but
take as long as the others together: a project of their own."""
WORKER_OUTPUT = "resources that Terraform made"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "area(name): what a test of infrastructure checks, for the summary")
    config.stash[RESOURCES] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if area := item.get_closest_marker("area"):
            item.user_properties.append(("area", area.args[0]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class ByProject(LoadScopeScheduling):  # type: ignore[misc]
        """What shares the emulated project runs in one worker, after one another; of all else, what is in one file."""

        def _split_scope(self, nodeid: str) -> str:
            path, _, _ = nodeid.partition("::")
            return "project" if path.startswith("tests/infra/lifecycle/") or Path(path).name in ON_PROJECT else path

    return ByProject(config, log)


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[WORKER_OUTPUT] = {
            stack: dict(counts.by_type) for stack, counts in session.config.stash[RESOURCES].items()
        }


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    for stack, by_type in getattr(node, "workeroutput", {}).get(WORKER_OUTPUT, {}).items():
        node.config.stash[RESOURCES][stack] = Counts(Counter(by_type))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    show_summary(terminalreporter, config.stash[RESOURCES])


@pytest.fixture(scope="session")
def command_environment() -> dict[str, str]:
    return {**os.environ, "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20"}


@pytest.fixture(scope="session")
def configurations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The environment file of each variant (terraform_variants.py)."""
    return write_configurations(tmp_path_factory.mktemp("config"))


@pytest.fixture(scope="session")
def synthesized(
    configurations: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, command_environment: dict[str, str]
) -> dict[str, Path]:
    """The folder of stacks of each variant."""
    if reason := terraform_variants.missing():
        pytest.skip(reason)
    return synthesize(configurations, tmp_path_factory.mktemp("stacks"), command_environment)


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The emulated project, one file."""
    return tmp_path_factory.mktemp("cloud") / "cloud.json"


@pytest.fixture(scope="session")
def emulated(cloud: Path) -> Iterator[dict[str, str]]:
    """The emulated provider, one warm process; always strict: what is not there yet is refused as Google does."""
    if reason := launch.missing():
        pytest.skip(reason)
    project = {"project_id": "acme-vision-prod", "project_number": "481516234207"}
    with launch.warm(cloud, strict=True, made_by_hand=MADE_BY_HAND, **project) as environment:
        yield environment


@pytest.fixture(scope="session")
def empty_cloud(emulated: dict[str, str], cloud: Path) -> Snapshot:
    """Nothing in the project but what was made by hand."""
    return Snapshot(cloud.read_text(), {})


@pytest.fixture(scope="session")
def project_of(
    synthesized: dict[str, Path], emulated: dict[str, str], cloud: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Project]:
    """A variant's stacks, ready for Terraform. They share the one project: restore a snapshot first."""
    made: dict[str, Project] = {}

    def project_of(variant: str) -> Project:
        if variant not in made:
            folder = tmp_path_factory.mktemp(variant)
            made[variant] = Project.prepare(synthesized[variant], folder, cloud, emulated)
        return made[variant]

    return project_of


@pytest.fixture
def empty(project_of: Callable[[str], Project], empty_cloud: Snapshot) -> Project:
    """The example's stacks on an empty project."""
    project = project_of("example")
    empty_cloud.restore(project)
    return project


@pytest.fixture(scope="session")
def raw_plans(project_of: Callable[[str], Project], empty_cloud: Snapshot) -> dict[str, dict[str, Any]]:
    """A first plan of each of the example's stacks, as `terraform show -json` gives it."""
    project = project_of("example")
    empty_cloud.restore(project)
    shown = {}
    for name, workspace in project.stacks.items():
        workspace.plan().expect(2)
        shown[name] = workspace.show()
    return shown


@pytest.fixture(scope="session")
def plans(project_of: Callable[[str], Project], raw_plans: dict[str, dict[str, Any]]) -> Plans:
    """The same as a reviewer reads them."""
    stacks = project_of("example").stacks
    return {name: inventory(stacks[name].configuration, shown) for name, shown in raw_plans.items()}


@pytest.fixture(scope="session")
def before_apply(
    project_of: Callable[[str], Project], empty_cloud: Snapshot, pytestconfig: pytest.Config
) -> dict[str, Snapshot]:
    """The project as each of the example's stacks finds it, and last, as "everything", when all are applied."""
    project = project_of("example")
    empty_cloud.restore(project)
    snapshots = {}
    for stack in STACKS:
        snapshots[stack] = Snapshot.of(project)
        done = project[stack].apply().expect(0).done
        pytestconfig.stash[RESOURCES][stack] = Counts.of(done)
    return {**snapshots, "everything": Snapshot.of(project)}


@pytest.fixture(scope="session")
def after_apply(before_apply: dict[str, Snapshot]) -> Snapshot:
    """The example's stacks applied once, in order; what every later test starts from."""
    return before_apply["everything"]


@pytest.fixture
def applied(project_of: Callable[[str], Project], after_apply: Snapshot) -> Project:
    """The example's stacks as they are after apply."""
    project = project_of("example")
    after_apply.restore(project)
    return project
