"""Four stacks by life cycle: foundation, artifacts, delivery, training."""
