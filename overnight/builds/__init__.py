"""Cloud Build files: read into the API's own message, held against rules, and run on this machine."""
