"""Measures the input pipeline on a user's own shards and machine: `python -m trainer.bench_input`."""
