import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as v1

from vertex_support import NUMBERED, PARENT

IMAGE = "europe-docker.pkg.dev/p/r/serve@sha256:" + "0" * 64


@pytest.fixture
def models(connect):
    return connect(v1.ModelServiceClient)


@pytest.fixture
def upload(models):
    """An uploader: the first call makes model `clf`, later ones add versions; returns the version."""

    def make(parent_model="", aliases=(), **fields):
        model = {
            "display_name": "clf",
            "version_aliases": list(aliases),
            "container_spec": {"image_uri": IMAGE},
            **fields,
        }
        target = {"parent_model": parent_model} if parent_model else {"model_id": "clf"}
        request = {"parent": PARENT, "model": model, **target}
        return models.upload_model(request=request).result(timeout=5)

    return make


CLF = f"{PARENT}/models/clf"
NUMBERED_CLF = f"{NUMBERED}/models/clf"


def aliases(models):
    return {model.version_id: set(model.version_aliases) for model in models.list_model_versions(name=CLF)}


def test_the_first_version_is_the_default_one(models, upload):
    done = upload(aliases=["candidate"])
    assert (done.model, done.model_version_id) == (NUMBERED_CLF, "1")
    assert aliases(models) == {"1": {"candidate", "default"}}


def test_a_later_version_takes_its_aliases_from_others(models, upload):
    upload(aliases=["candidate"])
    assert upload(CLF, ["candidate"]).model_version_id == "2"
    assert upload(CLF, ["default"]).model_version_id == "3"
    assert aliases(models) == {"1": set(), "2": {"candidate"}, "3": {"default"}}


@pytest.mark.parametrize(
    ("name", "version"), [("", "1"), ("@1", "1"), ("@2", "2"), ("@default", "1"), ("@champion", "2")]
)
def test_a_model_is_found_by_version_and_by_alias(models, upload, name, version):
    upload(artifact_uri="gs://b/1")
    upload(CLF, ["champion"], artifact_uri="gs://b/2")
    found = models.get_model(name=CLF + name)
    assert (found.version_id, found.artifact_uri) == (version, f"gs://b/{version}")
    assert found.name == NUMBERED_CLF + (f"@{version}" if name else "")


@pytest.mark.parametrize("name", ["models/other", "models/clf@3", "models/clf@champion"])
def test_what_is_not_there_is_not_found(models, upload, name):
    upload()
    with pytest.raises(exceptions.NotFound):
        models.get_model(name=f"{PARENT}/{name}")


def test_aliases_are_merged_and_taken_away(models, upload):
    upload(aliases=["champion"])
    upload(CLF, ["candidate"])
    merged = models.merge_version_aliases(name=f"{CLF}@2", version_aliases=["champion", "-candidate", "week-9"])
    assert set(merged.version_aliases) == {"champion", "week-9"}
    assert aliases(models) == {"1": {"default"}, "2": {"champion", "week-9"}}


def test_the_default_alias_moves_but_does_not_vanish(models, upload):
    upload()
    upload(CLF)
    models.merge_version_aliases(name=f"{CLF}@2", version_aliases=["default"])
    assert models.get_model(name=CLF).version_id == "2"
    with pytest.raises(exceptions.FailedPrecondition):
        models.merge_version_aliases(name=f"{CLF}@2", version_aliases=["-default"])
    assert aliases(models) == {"1": set(), "2": {"default"}}


def test_adding_and_taking_the_same_alias_cancel_out(models, upload):
    upload(aliases=["champion"])
    models.merge_version_aliases(name=f"{CLF}@1", version_aliases=["champion", "-champion", "new-one", "-new-one"])
    assert aliases(models) == {"1": {"champion", "default"}}


@pytest.mark.parametrize("alias", ["1", "Champion", "a", "-1", "a_b", "a-", "x" * 130])
def test_an_alias_that_cannot_be_is_refused(models, upload, alias):
    upload()
    with pytest.raises(exceptions.InvalidArgument):
        models.merge_version_aliases(name=f"{CLF}@1", version_aliases=[alias])


@pytest.mark.parametrize(
    "request_",
    [
        {"model": {}},
        {"model": {"display_name": "x", "container_spec": {}}},
        {"model": {"display_name": "x", "artifact_uri": "/tmp/model"}},
        {"model": {"display_name": "x"}, "model_id": "9lives"},
        {"model": {"display_name": "x"}, "model_id": "x", "parent_model": CLF},
        {"model": {"display_name": "x"}, "parent_model": "projects/demo/locations/europe-west4/models/clf"},
        {"model": {"display_name": "x", "labels": {"A": "b"}}},
    ],
)
def test_an_upload_that_cannot_be_is_refused(models, upload, request_):
    upload()
    with pytest.raises(exceptions.InvalidArgument):
        models.upload_model(request={"parent": PARENT, **request_})
    assert len(list(models.list_models(parent=PARENT))) == 1


def test_a_model_id_is_used_once(upload):
    upload()
    with pytest.raises(exceptions.AlreadyExists):
        upload()


def test_a_version_of_no_model_is_not_found(models, upload):
    with pytest.raises(exceptions.NotFound):
        upload(CLF)


def test_models_are_listed_as_their_default_versions(models, upload):
    upload(labels={"week": "1"})
    upload(CLF, ["default"], labels={"week": "2"})
    for text in ('display_name="clf"', "model=clf", 'labels.week="2"', 'displayName="clf" AND labels:week'):
        found = list(models.list_models(request={"parent": PARENT, "filter": text}))
        assert [(model.name, model.version_id) for model in found] == [(NUMBERED_CLF, "2")]
    assert not list(models.list_models(request={"parent": PARENT, "filter": 'labels.week="1"'}))


def test_versions_are_listed_newest_first_by_page(models, upload):
    upload()
    for _ in range(4):
        upload(CLF)
    listed = list(models.list_model_versions(request={"name": CLF, "page_size": 2}))
    assert [model.version_id for model in listed] == ["5", "4", "3", "2", "1"]
    assert listed[0].name == f"{NUMBERED_CLF}@5"


def test_the_model_and_its_versions_are_updated_separately(models, upload):
    upload(labels={"week": "1"})
    upload(CLF, labels={"week": "2"})
    models.update_model(
        model={"name": CLF, "description": "all", "labels": {"team": "v"}},
        update_mask={"paths": ["description", "labels"]},
    )
    models.update_model(
        model={"name": f"{CLF}@2", "version_description": "two"}, update_mask={"paths": ["version_description"]}
    )
    one, two = models.get_model(name=f"{CLF}@1"), models.get_model(name=f"{CLF}@2")
    assert (one.description, one.version_description, dict(one.labels)) == ("all", "", {"week": "1", "team": "v"})
    assert (two.description, two.version_description, dict(two.labels)) == ("all", "two", {"week": "2", "team": "v"})


@pytest.mark.parametrize(
    ("name", "path", "error"),
    [
        (f"{CLF}@1", "description", exceptions.FailedPrecondition),
        (CLF, "version_description", exceptions.FailedPrecondition),
        (CLF, "artifact_uri", exceptions.InvalidArgument),
        (CLF, "labels.week", exceptions.InvalidArgument),
    ],
)
def test_fields_of_the_other_level_cannot_be_updated(models, upload, name, path, error):
    upload()
    with pytest.raises(error):
        models.update_model(model={"name": name}, update_mask={"paths": [path]})


def test_an_old_etag_does_not_overwrite(models, upload):
    upload()
    old = models.get_model(name=CLF)
    models.update_model(model={"name": CLF, "description": "new"}, update_mask={"paths": ["description"]})
    with pytest.raises(exceptions.Aborted):
        models.update_model(
            model={"name": CLF, "description": "old", "etag": old.etag}, update_mask={"paths": ["description"]}
        )
    # A change of the version does not concern the model's own ETag.
    fresh = models.get_model(name=CLF)
    models.merge_version_aliases(name=f"{CLF}@1", version_aliases=["champion"])
    fresh.description = "newer"
    assert models.update_model(model=fresh, update_mask={"paths": ["description"]}).description == "newer"


def test_the_default_and_the_only_version_cannot_be_deleted(models, upload):
    upload()
    with pytest.raises(exceptions.FailedPrecondition, match="only"):
        models.delete_model_version(name=f"{CLF}@1")
    upload(CLF)
    with pytest.raises(exceptions.FailedPrecondition, match="default"):
        models.delete_model_version(name=f"{CLF}@1")
    models.delete_model_version(name=f"{CLF}@2").result(timeout=5)
    assert upload(CLF).model_version_id == "3"


def test_a_deleted_model_is_gone_with_all_it_had(models, upload):
    upload()
    metrics = {"metrics": {"accuracy": 0.9}}
    evaluation = models.import_model_evaluation(parent=CLF, model_evaluation=metrics)
    models.delete_model(name=CLF).result(timeout=5)
    for call in (lambda: models.get_model(name=CLF), lambda: models.get_model_evaluation(name=evaluation.name)):
        with pytest.raises(exceptions.NotFound):
            call()
    upload()
    assert not list(models.list_model_evaluations(parent=CLF))


def test_evaluations_belong_to_a_version(connect, upload, wire):
    upload()
    upload(CLF, ["candidate"])
    models = connect(v1.ModelServiceClient, wire)
    schema = "gs://google-cloud-aiplatform/schema/modelevaluation/classification_metrics_1.0.0.yaml"
    given = {"display_name": "weekly", "metrics_schema_uri": schema, "metrics": {"accuracy": 0.9, "recall": [0.5, 1.0]}}
    made = models.import_model_evaluation(parent=f"{CLF}@candidate", model_evaluation=given)
    assert made.name.startswith(f"{NUMBERED_CLF}@2/evaluations/")
    assert models.get_model_evaluation(name=made.name) == made
    assert dict(made.metrics)["accuracy"] == 0.9
    assert [len(list(models.list_model_evaluations(parent=f"{CLF}@{version}"))) for version in "12"] == [0, 1]


def test_slices_of_an_evaluation_are_kept_together(models, upload):
    upload()
    evaluation = models.import_model_evaluation(parent=CLF, model_evaluation={"metrics": {"accuracy": 0.9}})
    slices = [
        {"slice_": {"dimension": "annotationSpec", "value": name}, "metrics": {"f1": 0.5}} for name in ("cat", "dog")
    ]
    done = models.batch_import_model_evaluation_slices(parent=evaluation.name, model_evaluation_slices=slices)
    assert len(done.imported_model_evaluation_slices) == 2
    request = {"parent": evaluation.name, "filter": 'slice.value="cat"'}
    assert [part.slice_.value for part in models.list_model_evaluation_slices(request=request)] == ["cat"]
    assert models.get_model_evaluation_slice(name=done.imported_model_evaluation_slices[1]).slice_.value == "dog"


def test_a_copy_is_a_model_of_its_own(models, upload):
    upload(artifact_uri="gs://b/1", labels={"week": "1"}, aliases=["champion"])
    request = {"parent": PARENT, "source_model": f"{CLF}@champion", "model_id": "copy"}
    done = models.copy_model(request=request).result(timeout=5)
    copy = models.get_model(name=done.model)
    assert (copy.artifact_uri, list(copy.version_aliases)) == ("gs://b/1", ["default"])
    assert copy.original_model_info.model == f"{NUMBERED_CLF}@1"
