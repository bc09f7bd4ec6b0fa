"""The package inside the training image: reads a snapshot and its shards, writes a model and what explains it."""

__version__ = "0.1.0"
