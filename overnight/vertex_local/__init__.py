"""Vertex AI on this machine: custom jobs as real processes, one a replica."""
