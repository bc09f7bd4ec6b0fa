"""What more than one place makes the same way.

Plain functions that add to the stack itself, not nested constructs: a nested construct's resources get a hash in their
Terraform address, and `google_storage_bucket.shards_bucket` is what people, policies and imports name.
"""
