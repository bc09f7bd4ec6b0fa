"""The image catalogue: which images exist, where they are, and the digest of each."""
