"""Pipelines: what a compiled KFP specification runs next, with which arguments; plain data, no service."""
