"""What made what: the record of a run, and the audit that follows it back to every input."""
