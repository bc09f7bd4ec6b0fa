"""What became of the runs: evaluation gate, model registry, promotion log."""
