"""Both wires at once: the same errors, the same limits."""

import json
import socket
import threading
import urllib.error
import urllib.request

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.api import rest_front
from overnight.vertex_local.server import Server
from overnight.vertex_local.settings import Settings
from vertex_support import NUMBERED, PARENT


def fetch(server, path, method="GET", body=None, **headers):
    """Status and JSON of a plain HTTP request."""
    request = urllib.request.Request(server.rest_url + path, body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda c: c.get_endpoint(name=f"{PARENT}/endpoints/7"), exceptions.NotFound),
        (lambda c: c.create_endpoint(parent=PARENT, endpoint={}), exceptions.InvalidArgument),
        (lambda c: c.list_endpoints(request={"parent": PARENT, "filter": "nothing=1"}), exceptions.InvalidArgument),
        (
            lambda c: c.deploy_model(endpoint=f"{PARENT}/endpoints/7", deployed_model={"display_name": "x"}),
            exceptions.MethodNotImplemented,
        ),
    ],
)
def test_clients_raise_what_they_raise_for_vertex_ai(connect, wire, call, error):
    client = connect(v1.EndpointServiceClient, wire)
    client.create_endpoint(parent=PARENT, endpoint={"display_name": "x"})
    if wire == "rest" and error is exceptions.InvalidArgument:
        error = exceptions.BadRequest  # which the client makes of HTTP 400
    with pytest.raises(error):
        call(client)


def test_a_method_without_a_handler_is_unimplemented(server, connect, wire):
    client = connect(v1.ModelServiceClient, wire)
    with pytest.raises(exceptions.MethodNotImplemented, match="ModelService/ExportModel"):
        client.export_model(name=f"{PARENT}/models/1", output_config={"export_format_id": "x"})


def test_a_service_that_is_not_there_is_unimplemented(server, connect, wire):
    with pytest.raises(exceptions.MethodNotImplemented):
        connect(v1.DatasetServiceClient, wire).get_dataset(name=f"{PARENT}/datasets/1")


@pytest.mark.parametrize(
    ("path", "status", "name", "says"),
    [
        (f"/v1/{PARENT}/endpoints/7", 404, "NOT_FOUND", f"The resource {NUMBERED}/endpoints/7 does not exist."),
        (f"/v1/{PARENT}/datasets", 501, "UNIMPLEMENTED", None),
        (f"/v1/{PARENT}/endpoints?pageSiz=1", 400, "INVALID_ARGUMENT", None),
        (f"/v1/{PARENT}/endpoints?pageToken=x", 400, "INVALID_ARGUMENT", None),
        ("/nothing", 501, "UNIMPLEMENTED", None),
    ],
)
def test_rest_errors_have_google_s_form(server, path, status, name, says):
    found, body = fetch(server, path)
    assert (found, set(body), set(body["error"])) == (status, {"error"}, {"code", "message", "status"})
    assert (body["error"]["code"], body["error"]["status"]) == (status, name)
    assert says is None or body["error"]["message"] == says


def test_a_body_that_is_too_large_is_refused_without_being_read(server):
    with socket.create_connection(("127.0.0.1", int(server.rest_url.rsplit(":", 1)[1]))) as connection:
        connection.sendall(b"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400")


def test_grpc_refuses_messages_that_are_too_large(connect):
    endpoint = {"display_name": "x", "description": "y" * (11 * 2**20)}
    with pytest.raises(exceptions.ResourceExhausted):
        connect(v1.EndpointServiceClient).create_endpoint(parent=PARENT, endpoint=endpoint)


@pytest.mark.parametrize("headers", [{"Origin": "https://example.com"}, {"Host": "rebound.example.com:80"}])
def test_a_web_page_cannot_reach_the_server(server, headers):
    body = json.dumps({"displayName": "x"}).encode()
    status, answer = fetch(server, f"/v1/{PARENT}/endpoints", "POST", body, **headers)
    assert (status, answer["error"]["status"]) == (403, "PERMISSION_DENIED")
    assert fetch(server, f"/v1/{PARENT}/endpoints") == (200, {})


@pytest.mark.parametrize("parent", ["", "x", "projects/demo", "projects/demo/locations/l/extra/1"])
def test_names_are_checked_over_grpc_too(connect, parent):
    with pytest.raises(exceptions.InvalidArgument, match="parent"):
        connect(v1.EndpointServiceClient).list_endpoints(parent=parent)


def test_only_the_regions_that_are_served_are_served(tmp_path):
    with Server(tmp_path, Settings(locations=("europe-west4",))) as server:
        assert fetch(server, "/v1/projects/p/locations/europe-west4/endpoints")[0] == 200
        status, answer = fetch(server, "/v1/projects/p/locations/us-central1/endpoints")
    assert (status, "europe-west4" in answer["error"]["message"]) == (400, True)


def test_what_goes_wrong_inside_is_an_internal_error_and_the_server_goes_on(server, connect, wire, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    client = connect(v1.EndpointServiceClient, wire)
    with monkeypatch.context() as patch:
        patch.setattr(server.world.store, "rows", fail)
        with pytest.raises(exceptions.InternalServerError, match="ZeroDivisionError"):
            client.list_endpoints(parent=PARENT)
    assert list(client.list_endpoints(parent=PARENT)) == []


def test_many_clients_are_served_by_few_threads(server):
    before = threading.active_count()
    most = [0]
    answers = []

    def ask():
        answers.append(fetch(server, f"/v1/{PARENT}/endpoints")[0])
        most[0] = max(most[0], threading.active_count())

    clients = [threading.Thread(target=ask) for _ in range(60)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert answers == [200] * 60
    assert most[0] <= before + 60 + rest_front.THREADS


def test_a_client_that_says_nothing_does_not_keep_others_waiting(server):
    port = int(server.rest_url.rsplit(":", 1)[1])
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(rest_front.THREADS - 1)]
    assert fetch(server, f"/v1/{PARENT}/endpoints")[0] == 200
    for connection in silent:
        connection.close()


def test_tls_is_for_clients_that_trust_the_certificate_only(server):
    trusting = grpc.ssl_channel_credentials(server.certificate.read_bytes())
    for credentials, trusts in ((trusting, True), (grpc.ssl_channel_credentials(), False)):
        with grpc.secure_channel(server.tls_address, credentials) as channel:
            ready = grpc.channel_ready_future(channel)
            if trusts:
                ready.result(timeout=5)
            else:
                with pytest.raises(grpc.FutureTimeoutError):
                    ready.result(timeout=0.5)
