"""How fast a team's own shards become training samples on its own machine: asked of the trainer, put into words."""
