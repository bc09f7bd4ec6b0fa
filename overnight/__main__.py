"""`python -m overnight` is the `overnight` command."""

from overnight.cli.main import run

run()
