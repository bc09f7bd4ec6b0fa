"""Container images: their references and digests, what made them, what they hold, and where they are pinned."""
