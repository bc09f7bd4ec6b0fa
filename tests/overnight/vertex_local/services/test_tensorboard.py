import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.services.tensorboard_data import thinned
from vertex_support import NUMBERED, PARENT


@pytest.fixture
def boards(connect):
    return connect(v1.TensorboardServiceClient)


@pytest.fixture
def board(boards):
    return boards.create_tensorboard(parent=PARENT, tensorboard={"display_name": "weekly"}).result(timeout=5).name


@pytest.fixture
def run(boards, board):
    experiment = boards.create_tensorboard_experiment(parent=board, tensorboard_experiment_id="exp").name
    run = {"display_name": "first"}
    return boards.create_tensorboard_run(parent=experiment, tensorboard_run=run, tensorboard_run_id="first").name


@pytest.fixture
def loss(boards, run):
    series = {"display_name": "loss", "value_type": "SCALAR"}
    return boards.create_tensorboard_time_series(parent=run, tensorboard_time_series=series).name


def scalars(series, *values, first=0):
    points = [
        {"scalar": {"value": value}, "step": step, "wall_time": {"seconds": 1_700_000_000 + step}}
        for step, value in enumerate(values, start=first)
    ]
    return {"tensorboard_time_series_id": series.rsplit("/", 1)[1], "value_type": "SCALAR", "values": points}


def values(data):
    return [(point.step, point.scalar.value) for point in data.values]


def test_points_are_read_in_order_of_steps(boards, connect, run, loss, wire):
    client = connect(v1.TensorboardServiceClient, wire)
    client.write_tensorboard_run_data(tensorboard_run=run, time_series_data=[scalars(loss, 0.5, 0.25, first=2)])
    client.write_tensorboard_run_data(tensorboard_run=run, time_series_data=[scalars(loss, 2.0, 1.0)])
    data = client.read_tensorboard_time_series_data(tensorboard_time_series=loss).time_series_data
    assert values(data) == [(0, 2.0), (1, 1.0), (2, 0.5), (3, 0.25)]
    series = client.get_tensorboard_time_series(name=loss)
    assert (series.metadata.max_step, series.metadata.max_wall_time.timestamp()) == (3, 1_700_000_003)


def test_data_of_an_experiment_are_written_all_together_or_not_at_all(boards, board, run, loss):
    experiment = run.rsplit("/runs/", 1)[0]
    good = {"tensorboard_run": run, "time_series_data": [scalars(loss, 1.0)]}
    bad = {"tensorboard_run": f"{experiment}/runs/other", "time_series_data": [scalars(loss, 1.0)]}
    with pytest.raises(exceptions.NotFound):
        boards.write_tensorboard_experiment_data(tensorboard_experiment=experiment, write_run_data_requests=[good, bad])
    assert not boards.read_tensorboard_time_series_data(tensorboard_time_series=loss).time_series_data.values
    boards.write_tensorboard_experiment_data(tensorboard_experiment=experiment, write_run_data_requests=[good])
    many = boards.batch_read_tensorboard_time_series_data(request={"tensorboard": board, "time_series": [loss]})
    assert [values(data) for data in many.time_series_data] == [[(0, 1.0)]]


def test_a_long_series_is_thinned_out_when_read_and_whole_when_exported(boards, run, loss):
    boards.write_tensorboard_run_data(tensorboard_run=run, time_series_data=[scalars(loss, *range(50))])
    request = {"tensorboard_time_series": loss, "max_data_points": 5}
    data = boards.read_tensorboard_time_series_data(request=request).time_series_data
    assert [step for step, _ in values(data)] == [9, 19, 29, 39, 49]
    pages = boards.export_tensorboard_time_series_data(request={"tensorboard_time_series": loss, "page_size": 20})
    assert [point.step for point in pages] == list(range(50))


@pytest.mark.parametrize(("count", "most"), [(0, 3), (3, 3), (4, 3), (10, 1), (1000, 7)])
def test_thinning_keeps_the_last_point_and_no_more_than_asked(count, most):
    points = list(range(count))
    kept = thinned(points, most)
    assert len(kept) == min(count, most)
    assert kept == sorted(set(kept))
    assert not points or kept[-1] == points[-1]


def test_a_value_of_another_type_is_refused(boards, run, loss):
    tensor = {"tensorboard_time_series_id": loss.rsplit("/", 1)[1], "value_type": "TENSOR", "values": []}
    with pytest.raises(exceptions.InvalidArgument):
        boards.write_tensorboard_run_data(tensorboard_run=run, time_series_data=[tensor])


def test_blobs_are_read_by_id(boards, connect, run, wire):
    series = {"display_name": "graph", "value_type": "BLOB_SEQUENCE"}
    name = boards.create_tensorboard_time_series(parent=run, tensorboard_time_series=series).name
    point = {"step": 1, "blobs": {"values": [{"data": b"one"}, {"data": b"two"}]}}
    data = {"tensorboard_time_series_id": name.rsplit("/", 1)[1], "value_type": "BLOB_SEQUENCE", "values": [point]}
    boards.write_tensorboard_run_data(tensorboard_run=run, time_series_data=[data])
    found = boards.read_tensorboard_time_series_data(tensorboard_time_series=name).time_series_data
    ids = [blob.id for blob in found.values[0].blobs.values]
    client = connect(v1.TensorboardServiceClient, wire)
    answers = client.read_tensorboard_blob_data(request={"time_series": name, "blob_ids": ids[1:]})
    assert [(blob.id, blob.data) for answer in answers for blob in answer.blobs] == [(ids[1], b"two")]
    board = name.split("/experiments/")[0]
    assert boards.read_tensorboard_size(tensorboard=board).storage_size_byte > 6


def test_runs_and_series_are_created_in_batches(boards, board):
    experiment = boards.create_tensorboard_experiment(parent=board, tensorboard_experiment_id="exp").name
    runs = [
        {"parent": experiment, "tensorboard_run_id": name, "tensorboard_run": {"display_name": name}}
        for name in ("one", "two")
    ]
    made = boards.batch_create_tensorboard_runs(parent=experiment, requests=runs).tensorboard_runs
    series = [
        {"parent": made_run.name, "tensorboard_time_series": {"display_name": "loss", "value_type": "SCALAR"}}
        for made_run in made
    ]
    assert (
        len(boards.batch_create_tensorboard_time_series(parent=experiment, requests=series).tensorboard_time_series)
        == 2
    )
    assert boards.get_tensorboard(name=board).run_count == 2
    with pytest.raises(exceptions.AlreadyExists):
        boards.batch_create_tensorboard_runs(
            parent=experiment,
            requests=[
                {"parent": experiment, "tensorboard_run_id": "three", "tensorboard_run": {"display_name": "three"}},
                *runs,
            ],
        )
    assert boards.get_tensorboard(name=board).run_count == 2


def test_display_names_differ_within_a_parent(boards, run, loss):
    experiment, same = run.rsplit("/runs/", 1)[0], {"display_name": "first"}
    with pytest.raises(exceptions.AlreadyExists):
        boards.create_tensorboard_run(parent=experiment, tensorboard_run=same, tensorboard_run_id="second")
    same = {"display_name": "loss", "value_type": "SCALAR"}
    with pytest.raises(exceptions.AlreadyExists):
        boards.create_tensorboard_time_series(parent=run, tensorboard_time_series=same)


def test_there_is_one_default_tensorboard(boards):
    for name in ("one", "two"):
        boards.create_tensorboard(parent=PARENT, tensorboard={"display_name": name, "is_default": True}).result(
            timeout=5
        )
    found = boards.list_tensorboards(request={"parent": PARENT, "filter": "is_default=true"})
    assert [board.display_name for board in found] == ["two"]


def test_a_tensorboard_is_updated_and_deleted_with_all_in_it(boards, board, run, loss):
    updated = boards.update_tensorboard(
        tensorboard={"name": board, "description": "x"}, update_mask={"paths": ["description"]}
    )
    assert updated.result(timeout=5).description == "x"
    boards.write_tensorboard_run_data(tensorboard_run=run, time_series_data=[scalars(loss, 1.0)])
    boards.delete_tensorboard(name=board).result(timeout=5)
    for call in (lambda: boards.get_tensorboard_run(name=run), lambda: boards.get_tensorboard_time_series(name=loss)):
        with pytest.raises(exceptions.NotFound):
            call()


def test_names_are_as_vertex_ai_makes_them(board, run, loss):
    assert board.startswith(f"{NUMBERED}/tensorboards/")
    assert run == f"{board}/experiments/exp/runs/first"
    assert loss.startswith(f"{run}/timeSeries/")


@pytest.mark.parametrize("missing", ["id", "display name", "value type"])
def test_what_is_required_is_required(boards, board, run, missing):
    calls = {
        "id": lambda: boards.create_tensorboard_experiment(parent=board, tensorboard_experiment_id=""),
        "display name": lambda: boards.create_tensorboard(parent=PARENT, tensorboard={}),
        "value type": lambda: boards.create_tensorboard_time_series(
            parent=run, tensorboard_time_series={"display_name": "x"}
        ),
    }
    with pytest.raises(exceptions.InvalidArgument, match="Required"):
        calls[missing]()
