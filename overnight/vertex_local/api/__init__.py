"""Vertex AI's methods and how they are called: the table, the dispatch, gRPC and REST."""
