"""`overnight image`: build, resolve, pin, verify. One module a command."""

import importlib

import typer

COMMANDS: tuple[str, ...] = (
    "image_verify",
    "image_attest",
    "image_build",
    "image_inspect",
    "image_sbom",
    "image_registry",
    "image_pin",
    "image_release",
    "image_resolve",
)
"""Modules of overnight.cli; each has `add(group)`."""


def register(app: typer.Typer) -> None:
    """Add the verb group."""
    group = typer.Typer(help="Container images: build, resolve, pin and verify them.", no_args_is_help=True)
    for command in COMMANDS:
        importlib.import_module(f"overnight.cli.{command}").add(group)
    app.add_typer(group, name="image")
