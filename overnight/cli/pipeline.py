"""`overnight pipeline`: compile a template, publish it, find its digest; and what its steps run."""

from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer

from overnight.cli.context import JsonOption, console, print_json, progress_console

if TYPE_CHECKING:
    from overnight.images.reference import Reference
    from overnight.pipeline.publish import Published

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A template, such as weekly.")]
ImageOption = Annotated[
    list[str] | None, typer.Option("--image", metavar="NAME=REFERENCE", help="An image by digest; may be repeated.")
]
OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="Where the template is written.")
]
CommitOption = Annotated[
    str | None, typer.Option("--from-release", metavar="COMMIT", help="Take the images of the release of this commit.")
]
ReleasesOption = Annotated[
    str | None, typer.Option("--releases", metavar="PLACE", help="Where releases stand: a folder, or gs://….")
]
WaitOption = Annotated[
    float, typer.Option("--wait", min=0, metavar="SECONDS", help="How long to wait for a release that is not there.")
]
FilesArgument = Annotated[list[Path], typer.Argument(metavar="FILE…", help="Compiled templates.")]
RepositoryOption = Annotated[
    str, typer.Option("--repository", metavar="ADDRESS", help="https://REGION-kfp.pkg.dev/PROJECT/REPOSITORY")
]
TagOption = Annotated[str, typer.Option("--tag", help="The commit; a tag that stands on other bytes is not moved.")]
AddressArgument = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="https://REGION-kfp.pkg.dev/PROJECT/REPOSITORY/NAME:TAG")
]
StepOutputOption = Annotated[
    list[str] | None,
    typer.Option("--output", metavar="FIELD=FILE", help="Write a field of the command's JSON; may be repeated."),
]
CommandArgument = Annotated[list[str], typer.Argument(metavar="-- COMMAND…", help="A command, without `overnight`.")]


def register(app: typer.Typer) -> None:
    """Add the verb group."""
    group = typer.Typer(no_args_is_help=True, help="Pipeline templates: compile and publish them, by digest.")
    group.command("list")(list_)
    group.command("compile")(compile_)
    group.command("publish")(publish)
    group.command("resolve")(resolve)
    group.command("step")(step)
    app.add_typer(group, name="pipeline")


def list_(as_json: JsonOption = False) -> None:
    """List the templates, with their parameters and the images that they run in."""
    from overnight.pipeline.templates import TEMPLATES

    if as_json:
        print_json(
            [
                {
                    "name": template.name,
                    "description": template.description,
                    "images": list(template.images),
                    "parameters": {each.name: each.default for each in template.parameters},
                }
                for template in TEMPLATES.values()
            ]
        )
        return
    for template in TEMPLATES.values():
        console.print(f"{template.name}: {template.description}", markup=False)
        for each in template.parameters:
            default = "" if each.default is None else f" Default: {each.default!r}."
            console.print(f"  {each.name:<10} {each.description}{default}", markup=False)


def compile_(
    name: NameArgument,
    output: OutputOption,
    image: ImageOption = None,
    from_release: CommitOption = None,
    releases: ReleasesOption = None,
    wait: WaitOption = 0.0,
) -> None:
    """Write a template as the specification that Vertex AI runs, with its images by digest; always the same bytes."""
    from overnight.files import sha256_bytes, write_atomically
    from overnight.pipeline.images import images_given
    from overnight.pipeline.specification import compile_template
    from overnight.pipeline.templates import find_template

    template = find_template(name)
    images = images_given(image or [])
    if from_release is not None:
        missing = [each for each in template.images if each not in images]
        images |= _released(releases, from_release, missing, wait)
    content = compile_template(template, images)
    write_atomically(output, content)
    console.print(f"{output}: template {template.name}, sha256:{sha256_bytes(content)}", markup=False)


def publish(files: FilesArgument, repository: RepositoryOption, tag: TagOption, as_json: JsonOption = False) -> None:
    """Upload compiled templates and tag them; what is there already stays as it is. Prints their addresses by digest.

    Each address is what `template_uri` of a schedule in config/*.yaml is to be.
    """
    from overnight.pipeline import publish as publishing
    from overnight.pipeline.registry import registry_of
    from overnight.pipeline.repository import check_tag, parse_repository

    check_tag(tag, where="--tag")
    # All are read before the first is sent.
    templates = [publishing.read_template(file) for file in files]
    registry = registry_of(parse_repository(repository))
    published = [publishing.publish(registry, content, name, tag) for content, name in templates]
    if as_json:
        print_json([_facts(each) for each in published])
        return
    for each in published:
        typer.echo(each.uri)
        progress_console.print(f"{each.name}, in config/*.yaml: template_uri: {each.uri}", markup=False, soft_wrap=True)


def resolve(address: AddressArgument, as_json: JsonOption = False) -> None:
    """Say which digest a template's tag stands on, once its bytes have been checked."""
    from overnight.pipeline import publish as publishing
    from overnight.pipeline.registry import registry_of
    from overnight.pipeline.repository import parse_template

    place, name, version = parse_template(address)
    found = publishing.resolve(registry_of(place), name, version)
    if as_json:
        print_json(_facts(found))
    else:
        typer.echo(found.uri)


def step(command: CommandArgument, output: StepOutputOption = None) -> None:
    """Run a command as a step of a pipeline; its exit code is the command's."""
    from overnight.pipeline.step import parse_outputs, run_step

    code = run_step(command, parse_outputs(output or []))
    if code:
        raise typer.Exit(code)


def _released(releases: str | None, commit: str, names: list[str], wait: float) -> "dict[str, Reference]":
    from overnight.pipeline.errors import TemplateError
    from overnight.pipeline.images import await_release, images_of_release

    if releases is None:
        raise TemplateError(
            "--from-release does not say where releases stand",
            remedy="add --releases gs://BUCKET/releases, or a folder",
        )
    await_release(releases, commit, wait, sleep, lambda text: progress_console.print(text, markup=False))
    return images_of_release(releases, commit, names)


def _facts(published: "Published") -> dict[str, str]:
    return {"name": published.name, "version": published.version, "template_uri": published.uri}
