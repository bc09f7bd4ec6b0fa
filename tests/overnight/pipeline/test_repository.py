"""Addresses of repositories and templates."""

import pytest

from overnight.errors import OvernightError
from overnight.pipeline.repository import check_tag, parse_repository, parse_template

HOST = "https://us-central1-kfp.pkg.dev"
VERSION = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("text", "address", "resource"),
    [
        (
            f"{HOST}/acme/pipelines",
            f"{HOST}/acme/pipelines",
            "https://artifactregistry.googleapis.com/v1/projects/acme/locations/us-central1/repositories/pipelines",
        ),
        (
            "https://europe-kfp.pkg.dev/acme.example:vision/dev-pipelines/",
            "https://europe-kfp.pkg.dev/acme.example:vision/dev-pipelines",
            "https://artifactregistry.googleapis.com/v1"
            "/projects/acme.example:vision/locations/europe/repositories/dev-pipelines",
        ),
        (
            "http://127.0.0.1:8080/acme/pipelines",
            "http://127.0.0.1:8080/acme/pipelines",
            "http://127.0.0.1:8080/v1/projects/acme/locations/local/repositories/pipelines",
        ),
    ],
)
def test_an_address_names_the_repository_and_its_resource(text: str, address: str, resource: str) -> None:
    repository = parse_repository(text)
    assert (repository.address, repository.resource) == (address, resource)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "pipelines", "acme/pipelines", HOST, f"{HOST}/acme", f"{HOST}/acme/pipelines/weekly", f"{HOST}//x"),
        *(f"{HOST}/acme/pipe lines", f"{HOST}/acme/../pipelines", f"{HOST}/acme/pipelines?x=1", "gs://acme/pipelines"),
        *("ftp://us-central1-kfp.pkg.dev/acme/pipelines", "https://user@us-central1-kfp.pkg.dev/acme/pipelines"),
        "https://us-central1-kfp.pkg.dev/acme/pipelines\n",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(OvernightError) as error:
        parse_repository(text)
    assert error.value.sentence == (
        f"--repository: {text!r} is no address of a template repository; "
        "write https://REGION-kfp.pkg.dev/PROJECT/REPOSITORY."
    )


@pytest.mark.parametrize(
    "host",
    [
        *("http://us-central1-kfp.pkg.dev", "https://us-central1-docker.pkg.dev", "https://example.com"),
        *("http://example.com:8080", "https://127.0.0.1:8080", "https://us-central1-kfp.pkg.dev.example.com"),
    ],
)
def test_tokens_go_to_artifact_registry_only_and_nothing_goes_out_unencrypted(host: str) -> None:
    with pytest.raises(OvernightError) as error:
        parse_repository(f"{host}/acme/pipelines")
    assert error.value.sentence == (
        f"--repository: {host} keeps no pipeline templates; "
        "write https://REGION-kfp.pkg.dev/…, or http://127.0.0.1:PORT/… of a registry on this machine."
    )


@pytest.mark.parametrize("separator", [":", "/"])
@pytest.mark.parametrize("version", ["c0ffee", VERSION])
def test_a_template_is_named_by_tag_or_by_digest(separator: str, version: str) -> None:
    repository, name, found = parse_template(f"{HOST}/acme/pipelines/weekly{separator}{version}")
    assert (repository.address, name, found) == (f"{HOST}/acme/pipelines", "weekly", version)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{HOST}/acme/pipelines/weekly", "is no address of a template"),
        (f"{HOST}/acme/pipelines/weekly:", "is no address of a template"),
        (f"{HOST}/acme/pipelines/weekly/a/b", "is no address of a template"),
        (f"{HOST}/acme/pipelines/wee:v1", "'wee' is no name of a template"),
        (f"{HOST}/acme/pipelines/Weekly:v1", "'Weekly' is no name of a template"),
        (f"{HOST}/acme/pipelines/weekly:latest", "a release is not tagged latest"),
        (f"{HOST}/acme/pipelines/weekly:sha256:12", "'sha256:12' is no tag"),
        ("https://example.com/acme/pipelines/weekly:v1", "https://example.com keeps no pipeline templates"),
        ("weekly:v1", "is no address of a template"),
    ],
)
def test_what_names_no_template_is_refused(text: str, problem: str) -> None:
    with pytest.raises(OvernightError) as error:
        parse_template(text)
    assert problem in error.value.sentence
    assert error.value.remedy


@pytest.mark.parametrize("tag", ["", "latest", "-a", "a b", "a/b", "sha256:1", "a" * 129])
def test_a_tag_that_a_release_cannot_have_is_refused(tag: str) -> None:
    with pytest.raises(OvernightError):
        check_tag(tag, where="--tag")
