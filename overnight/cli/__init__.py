"""The `overnight` command: one file a verb group; each parses, calls one function, prints."""
