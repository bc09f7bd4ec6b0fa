"""What the server remembers: messages in SQLite, long-running operations, the clock."""
