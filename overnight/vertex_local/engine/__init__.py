"""Runs custom jobs as Vertex AI would: a queue, capacity, and one process of its own for each running job."""
