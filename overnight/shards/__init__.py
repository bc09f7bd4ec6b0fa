"""Shard sets: catalogued images, checked one by one, in tars that never change."""
