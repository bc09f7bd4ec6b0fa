"""From a snapshot and its shards to batches: which sample comes when, what is cut from it, and the pixels."""
