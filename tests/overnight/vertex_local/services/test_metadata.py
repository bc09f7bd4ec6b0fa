import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as v1

from vertex_support import NUMBERED, PARENT

STORE = f"{PARENT}/metadataStores/default"


@pytest.fixture
def metadata(connect):
    client = connect(v1.MetadataServiceClient)
    client.create_metadata_store(parent=PARENT, metadata_store={}, metadata_store_id="default").result(timeout=5)
    return client


def artifact(client, name, /, **fields):
    return client.create_artifact(parent=STORE, artifact=fields, artifact_id=name).name


def execution(client, name, /, **fields):
    return client.create_execution(parent=STORE, execution=fields, execution_id=name).name


def context(client, name, /, **fields):
    return client.create_context(parent=STORE, context=fields, context_id=name).name


def short(names):
    return [name.rsplit("/", 1)[1] for name in names]


@pytest.fixture
def chain(metadata):
    """images -> prepare -> shards -> train -> model."""
    for name in ("images", "shards", "model"):
        artifact(metadata, name, schema_title=f"system.{name}")
    for name, before, after in (("prepare", "images", "shards"), ("train", "shards", "model")):
        events = [
            {"artifact": f"{STORE}/artifacts/{before}", "type_": "INPUT"},
            {"artifact": f"{STORE}/artifacts/{after}", "type_": "OUTPUT"},
        ]
        metadata.add_execution_events(execution=execution(metadata, name), events=events)
    return metadata


def test_a_store_has_to_be_created_first(connect, wire):
    client = connect(v1.MetadataServiceClient, wire)
    with pytest.raises(exceptions.NotFound):
        artifact(client, "early")
    made = client.create_metadata_store(parent=PARENT, metadata_store={}, metadata_store_id="default").result(timeout=5)
    assert made.name == f"{NUMBERED}/metadataStores/default"
    assert artifact(client, "late").endswith("/artifacts/late")
    assert [store.name for store in client.list_metadata_stores(parent=PARENT)] == [made.name]


def test_a_deleted_store_is_gone_with_all_in_it(metadata):
    name = artifact(metadata, "images")
    metadata.delete_metadata_store(name=STORE).result(timeout=5)
    with pytest.raises(exceptions.NotFound):
        metadata.get_artifact(name=name)


def test_metadata_is_kept_as_it_was_given(connect, metadata, wire):
    client = connect(v1.MetadataServiceClient, wire)
    given = {"rows": 3.0, "classes": ["cat", "dog"], "nested": {"good": True}}
    name = artifact(client, f"images-{wire}", uri="gs://b/x", metadata=given, state="LIVE")
    found = client.get_artifact(name=name)
    assert (found.uri, found.state.name, found.metadata["rows"]) == ("gs://b/x", "LIVE", 3.0)
    assert (list(found.metadata["classes"]), found.metadata["nested"]["good"]) == (["cat", "dog"], True)


@pytest.mark.parametrize("node_id", ["Upper", "a_b", "-a", "x" * 129])
def test_an_id_that_cannot_be_is_refused(metadata, node_id):
    with pytest.raises(exceptions.InvalidArgument, match="artifact_id"):
        artifact(metadata, node_id)


def test_an_id_is_used_once(metadata):
    artifact(metadata, "images")
    with pytest.raises(exceptions.AlreadyExists):
        artifact(metadata, "images")


def test_metadata_over_200_kb_is_refused(metadata):
    with pytest.raises(exceptions.InvalidArgument, match="200 KB"):
        artifact(metadata, "large", metadata={"text": "x" * 210_000})


def test_an_update_creates_only_when_that_is_allowed(metadata):
    missing = v1.Execution(name=f"{STORE}/executions/train", state="RUNNING")
    with pytest.raises(exceptions.NotFound):
        metadata.update_execution(execution=missing)
    metadata.update_execution(request={"execution": missing, "allow_missing": True})
    done = v1.Execution(name=missing.name, state="COMPLETE", metadata={"loss": 0.5})
    found = metadata.update_execution(execution=done, update_mask={"paths": ["state"]})
    assert (found.state.name, found.metadata) == ("COMPLETE", None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('schema_title="system.shards"', ["shards"]),
        ('in_context("{store}/contexts/weekly")', ["model", "shards"]),
        ('in_context("{store}/contexts/weekly") AND NOT schema_title="system.model"', ["shards"]),
        ('in_context("{store}/contexts/none")', []),
        ('name="{numbered}/artifacts/model"', ["model"]),
    ],
)
def test_artifacts_are_filtered_by_field_and_context(chain, text, expected):
    weekly = context(chain, "weekly")
    members = [f"{STORE}/artifacts/{name}" for name in ("shards", "model")]
    chain.add_context_artifacts_and_executions(context=weekly, artifacts=members)
    text = text.format(store=STORE, numbered=f"{NUMBERED}/metadataStores/default")
    found = chain.list_artifacts(request={"parent": STORE, "filter": text})
    assert short(node.name for node in found) == expected


def test_an_execution_knows_its_inputs_and_outputs(chain, connect, wire):
    graph = connect(v1.MetadataServiceClient, wire).query_execution_inputs_and_outputs(
        execution=f"{STORE}/executions/train"
    )
    assert short(node.name for node in graph.executions) == ["train"]
    assert [(short([event.artifact])[0], event.type_.name) for event in graph.events] == [
        ("shards", "INPUT"),
        ("model", "OUTPUT"),
    ]
    assert short(node.name for node in graph.artifacts) == ["shards", "model"]


def test_an_event_is_recorded_once(chain):
    event = {"artifact": f"{STORE}/artifacts/shards", "type_": "INPUT"}
    chain.add_execution_events(execution=f"{STORE}/executions/train", events=[event])
    assert len(chain.query_execution_inputs_and_outputs(execution=f"{STORE}/executions/train").events) == 2


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"artifact": f"{STORE}/artifacts/none", "type_": "INPUT"}, exceptions.NotFound),
        ({"artifact": f"{STORE}/artifacts/model"}, exceptions.InvalidArgument),
        ({"type_": "INPUT"}, exceptions.InvalidArgument),
        ({"artifact": f"{PARENT}/metadataStores/other/artifacts/model", "type_": "INPUT"}, exceptions.InvalidArgument),
    ],
)
def test_events_that_cannot_be_are_refused_all_together(chain, event, error):
    name = execution(chain, "extra")
    with pytest.raises(error):
        chain.add_execution_events(
            execution=name, events=[{"artifact": f"{STORE}/artifacts/model", "type_": "INPUT"}, event]
        )
    assert not chain.query_execution_inputs_and_outputs(execution=name).events


@pytest.mark.parametrize(
    ("hops", "artifacts", "executions", "events"),
    [
        (0, {"model", "shards", "images"}, {"train", "prepare"}, 4),
        (1, {"model"}, {"train"}, 1),
        (2, {"model", "shards"}, {"train"}, 2),
        (3, {"model", "shards"}, {"train", "prepare"}, 3),
    ],
)
def test_lineage_reaches_as_far_as_asked(chain, hops, artifacts, executions, events):
    graph = chain.query_artifact_lineage_subgraph(request={"artifact": f"{STORE}/artifacts/model", "max_hops": hops})
    assert set(short(node.name for node in graph.artifacts)) == artifacts
    assert set(short(node.name for node in graph.executions)) == executions
    assert len(graph.events) == events


def test_lineage_can_be_filtered(chain):
    request = {"artifact": f"{STORE}/artifacts/model", "filter": 'schema_title="system.images"'}
    graph = chain.query_artifact_lineage_subgraph(request=request)
    assert set(short(node.name for node in graph.artifacts)) == {"model", "images"}


def test_a_context_shows_the_events_between_its_members(chain):
    weekly = context(chain, "weekly")
    artifacts = [f"{STORE}/artifacts/{name}" for name in ("shards", "model")]
    executions = [f"{STORE}/executions/{name}" for name in ("prepare", "train")]
    for _ in range(2):
        chain.add_context_artifacts_and_executions(context=weekly, artifacts=artifacts, executions=executions)
    graph = chain.query_context_lineage_subgraph(context=weekly)
    assert (len(graph.artifacts), len(graph.executions), len(graph.events)) == (2, 2, 3)


def test_contexts_have_children_but_no_circles(metadata):
    top, middle, bottom = (context(metadata, name) for name in ("top", "middle", "bottom"))
    metadata.add_context_children(context=top, child_contexts=[middle])
    metadata.add_context_children(context=middle, child_contexts=[bottom])
    assert list(metadata.get_context(name=middle).parent_contexts) == [top]
    for child in (top, bottom):
        with pytest.raises(exceptions.InvalidArgument, match="circle"):
            metadata.add_context_children(context=bottom, child_contexts=[child])
    for text, expected in ((f'parent_contexts:"{top}"', ["middle"]), (f'child_contexts:"{middle}"', ["top"])):
        assert (
            short(node.name for node in metadata.list_contexts(request={"parent": STORE, "filter": text})) == expected
        )
    metadata.remove_context_children(context=top, child_contexts=[middle])
    assert not metadata.get_context(name=middle).parent_contexts


def test_a_context_has_at_most_ten_parents(metadata):
    child = context(metadata, "child")
    for number in range(10):
        metadata.add_context_children(context=context(metadata, f"parent-{number}"), child_contexts=[child])
    with pytest.raises(exceptions.InvalidArgument, match="10"):
        metadata.add_context_children(context=context(metadata, "parent-10"), child_contexts=[child])
    assert len(metadata.get_context(name=child).parent_contexts) == 10


def test_a_deleted_context_is_no_parent_any_more(metadata):
    top, bottom = context(metadata, "top"), context(metadata, "bottom")
    metadata.add_context_children(context=top, child_contexts=[bottom])
    metadata.delete_context(name=top).result(timeout=5)
    assert not metadata.get_context(name=bottom).parent_contexts


def test_a_deleted_artifact_leaves_its_events(chain):
    chain.delete_artifact(name=f"{STORE}/artifacts/shards").result(timeout=5)
    graph = chain.query_execution_inputs_and_outputs(execution=f"{STORE}/executions/train")
    assert short(event.artifact for event in graph.events) == ["model"]


def test_a_purge_counts_first_and_deletes_when_forced(chain):
    request = {"parent": STORE, "filter": 'schema_title="system.images" OR schema_title="system.shards"'}
    counted = chain.purge_artifacts(request=request).result(timeout=5)
    assert (counted.purge_count, len(counted.purge_sample), len(list(chain.list_artifacts(parent=STORE)))) == (2, 2, 3)
    assert chain.purge_artifacts(request={**request, "force": True}).result(timeout=5).purge_count == 2
    assert short(node.name for node in chain.list_artifacts(parent=STORE)) == ["model"]
    with pytest.raises(exceptions.InvalidArgument):
        chain.purge_artifacts(request={"parent": STORE, "force": True})


def test_schemas_are_kept(metadata):
    schema = {"schema": "title: demo.Model\ntype: object\n", "schema_type": "ARTIFACT_TYPE", "schema_version": "0.0.1"}
    made = metadata.create_metadata_schema(parent=STORE, metadata_schema=schema, metadata_schema_id="demo-model")
    assert metadata.get_metadata_schema(name=made.name) == made
    assert list(metadata.list_metadata_schemas(parent=STORE)) == [made]
