"""What tests of the local Vertex AI share: a server in a folder of its own, and official clients of it."""

import grpc
from google.auth.credentials import AnonymousCredentials

PARENT = "projects/demo/locations/us-central1"
NUMBERED = "projects/123456789012/locations/us-central1"
"""`PARENT` as the server names it."""
WIRES = ("grpc", "tls", "rest")


def client(server, client_class, wire="grpc"):
    """An official client of `server`, over gRPC, gRPC with TLS, or REST."""
    if wire == "rest":
        options = {"api_endpoint": server.rest_url}
        return client_class(transport="rest", credentials=AnonymousCredentials(), client_options=options)
    if wire == "tls":
        credentials = grpc.ssl_channel_credentials(server.certificate.read_bytes())
        channel = grpc.secure_channel(server.tls_address, credentials)
    else:
        channel = grpc.insecure_channel(server.grpc_address)
    return client_class(transport=client_class.get_transport_class("grpc")(channel=channel))
