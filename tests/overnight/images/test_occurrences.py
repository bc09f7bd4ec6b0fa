"""Cloud Build's provenance, from a local Container Analysis that speaks the API's own messages."""

from collections.abc import Iterator

import grpc
import pytest
from google.protobuf import any_pb2, struct_pb2
from grafeas.grafeas_v1 import types as g

from container_analysis_server import ContainerAnalysis
from overnight.images.errors import ImageError
from overnight.images.occurrences import BuildOccurrences, grafeas_client
from overnight.images.provenance import CLOUD_BUILDER, SLSA_V1, Evidence, Provenance
from overnight.images.reference import parse
from overnight.images.statement import SLSA_V01, SLSA_V02

HEX = "5d" * 32
COMMIT = "c0ffee" + "0" * 34
IMAGE = parse(f"us-central1-docker.pkg.dev/acme-vision-prod/prod-images/trainer-cpu@sha256:{HEX}")
RESOURCE = f"https://{IMAGE}"
BUILD = "9c11d255-0469-4a6a-b7d0-d510c6697c54"
GOOGLE_TYPE = "https://cloud.google.com/build/gcb-buildtypes/google-worker/v1"


def struct(**values: object) -> struct_pb2.Struct:
    message = struct_pb2.Struct()
    message.update(values)
    return message


def subjects() -> list[g.Subject]:
    name = f"https://{IMAGE.repository}"
    return [g.Subject(name=each, digest={"sha256": HEX}) for each in (name, f"{name}:{COMMIT}")]


def statement_v1(**changes: object) -> g.InTotoSlsaProvenanceV1:
    """As Cloud Build writes it for a trigger on a repository of the second generation."""
    kind = g.InTotoSlsaProvenanceV1
    definition = kind.BuildDefinition(
        build_type=GOOGLE_TYPE,
        external_parameters=struct(
            buildConfigSource={
                "path": "cloudbuild/images.yaml",
                "ref": "refs/heads/main",
                "repository": "git+https://github.com/acme/vision",
            },
            substitutions={"_ENVIRONMENT": "prod"},
        ),
        internal_parameters=struct(systemSubstitutions={"COMMIT_SHA": COMMIT, "BUILD_ID": BUILD}),
        resolved_dependencies=[
            kind.ResourceDescriptor(
                uri="git+https://github.com/acme/vision@refs/heads/main", digest={"gitCommit": COMMIT}
            ),
            kind.ResourceDescriptor(uri=f"us-docker.pkg.dev/acme/builder@sha256:{HEX}", digest={"sha256": HEX}),
        ],
    )
    run = kind.RunDetails(
        builder=kind.ProvenanceBuilder(id=CLOUD_BUILDER),
        metadata=kind.BuildMetadata(
            invocation_id=f"https://cloudbuild.googleapis.com/v1/projects/acme/locations/us-central1/builds/{BUILD}"
        ),
    )
    fields = {
        "type_": "https://in-toto.io/Statement/v1",
        "subject": subjects(),
        "predicate_type": SLSA_V1,
        "predicate": kind.SlsaProvenanceV1(build_definition=definition, run_details=run),
        **changes,
    }
    return kind(**fields)


def statement_v01(material: str = "git+https://github.com/acme/vision", algorithm: str = "sha1") -> g.InTotoStatement:
    kind = g.SlsaProvenance
    arguments = any_pb2.Any(type_url="type.googleapis.com/google.devtools.cloudbuild.v1.Build", value=b"")
    slsa = kind(
        builder=kind.SlsaBuilder(id=f"{CLOUD_BUILDER}@v0.3"),
        recipe=kind.SlsaRecipe(
            type_="https://cloudbuild.googleapis.com/CloudBuildYaml@v0.1",
            entry_point="cloudbuild/images.yaml",
            arguments=arguments,
        ),
        metadata=kind.SlsaMetadata(build_invocation_id=BUILD),
        materials=[kind.Material(uri=material, digest={algorithm: COMMIT})],
    )
    return g.InTotoStatement(
        type_="https://in-toto.io/Statement/v0.1", subject=subjects(), predicate_type=SLSA_V01, slsa_provenance=slsa
    )


def statement_v02() -> g.InTotoStatement:
    kind = g.SlsaProvenanceZeroTwo
    slsa = kind(
        builder=kind.SlsaBuilder(id=f"{CLOUD_BUILDER}@v0.3"),
        build_type="https://cloudbuild.googleapis.com/CloudBuildYaml@v0.1",
        invocation=kind.SlsaInvocation(
            config_source=kind.SlsaConfigSource(
                uri="git+https://github.com/acme/vision.git",
                digest={"sha1": COMMIT},
                entry_point="cloudbuild/images.yaml",
            )
        ),
        metadata=kind.SlsaMetadata(build_invocation_id=BUILD),
    )
    return g.InTotoStatement(
        type_="https://in-toto.io/Statement/v0.1",
        subject=subjects(),
        predicate_type=SLSA_V02,
        slsa_provenance_zero_two=slsa,
    )


def occurrence(build: g.BuildOccurrence, **changes: object) -> g.Occurrence:
    fields = {
        "name": "projects/acme-vision-prod/occurrences/8f992d9a",
        "resource_uri": RESOURCE,
        "note_name": f"projects/verified-builder/notes/intoto_slsa_v1_{BUILD}",
        "kind": g.NoteKind.BUILD,
        "build": build,
        **changes,
    }
    return g.Occurrence(**fields)


@pytest.fixture
def server() -> Iterator[ContainerAnalysis]:
    with ContainerAnalysis() as running:
        yield running


@pytest.fixture
def source(server: ContainerAnalysis) -> BuildOccurrences:
    return BuildOccurrences(grafeas_client(server.address, encrypted=False), seconds=0.3)


def read(predicate_type: str, builder: str, build_type: str) -> Provenance:
    return Provenance(
        subject_digest=f"sha256:{HEX}",
        source="https://github.com/acme/vision",
        commit=COMMIT,
        builder=builder,
        build_id=BUILD,
        predicate_type=predicate_type,
        build_type=build_type,
        config="cloudbuild/images.yaml",
    )


OLDER_TYPE = "https://cloudbuild.googleapis.com/CloudBuildYaml@v0.1"


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (g.BuildOccurrence(in_toto_slsa_provenance_v1=statement_v1()), read(SLSA_V1, CLOUD_BUILDER, GOOGLE_TYPE)),
        (
            g.BuildOccurrence(intoto_statement=statement_v01()),
            read(SLSA_V01, f"{CLOUD_BUILDER}@v0.3", OLDER_TYPE),
        ),
        (
            g.BuildOccurrence(intoto_statement=statement_v02()),
            read(SLSA_V02, f"{CLOUD_BUILDER}@v0.3", OLDER_TYPE),
        ),
    ],
    ids=["v1", "v0.1", "v0.2"],
)
def test_every_form_that_cloud_build_writes_is_read(server, source, build, expected) -> None:
    server.occurrences = [occurrence(build)]
    trust = "projects/acme-vision-prod/occurrences/8f992d9a is attached to Cloud Build's own note"
    assert source.find(IMAGE) == [Evidence(True, trust, expected)]


def test_the_request_names_the_images_project_and_nothing_but_builds_of_this_digest(server, source) -> None:
    source.find(IMAGE)
    assert server.requests == [
        g.ListOccurrencesRequest.pb(
            g.ListOccurrencesRequest(
                parent="projects/acme-vision-prod", filter=f'resourceUrl="{RESOURCE}" AND kind="BUILD"'
            )
        )
    ]


def test_all_pages_are_read(server, source) -> None:
    build = g.BuildOccurrence(in_toto_slsa_provenance_v1=statement_v1())
    server.occurrences = [
        occurrence(build, name=f"projects/acme-vision-prod/occurrences/{number}") for number in range(5)
    ]
    assert [evidence.trust.split()[0][-1] for evidence in source.find(IMAGE)] == list("01234")


def test_an_envelope_alone_is_read_too(server, source) -> None:
    payload = b'{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://slsa.dev/provenance/v1",'
    payload += b'"subject":[{"digest":{"sha256":"' + HEX.encode() + b'"}}],'
    payload += b'"predicate":{"runDetails":{"builder":{"id":"b"}}}}'
    server.occurrences = [occurrence(g.BuildOccurrence(), envelope=g.Envelope(payload=payload))]
    assert source.find(IMAGE)[0].provenance == Provenance(
        subject_digest=f"sha256:{HEX}", source=None, commit=None, builder="b", build_type=""
    )


def test_the_occurrence_with_steps_alone_says_nothing(server, source) -> None:
    server.occurrences = [occurrence(g.BuildOccurrence(provenance=g.BuildProvenance(id=BUILD)))]
    assert source.find(IMAGE) == []


def test_an_occurrence_on_a_note_of_our_own_project_is_not_believed(server, source) -> None:
    """Whoever may edit occurrences can write one, whatever it says."""
    build = g.BuildOccurrence(in_toto_slsa_provenance_v1=statement_v1())
    server.occurrences = [occurrence(build, note_name="projects/acme-vision-prod/notes/mine")]
    (evidence,) = source.find(IMAGE)
    assert (evidence.trusted, evidence.trust) == (
        False,
        "projects/acme-vision-prod/occurrences/8f992d9a is attached to projects/acme-vision-prod/notes/mine, "
        "and Cloud Build's statements are under projects/verified-builder/notes/",
    )


def test_an_archive_that_was_uploaded_is_no_source(server, source) -> None:
    material = "gs://acme_cloudbuild/source/1665165360.tgz#1665165361152729"
    server.occurrences = [occurrence(g.BuildOccurrence(intoto_statement=statement_v01(material, "md5")))]
    (evidence,) = source.find(IMAGE)
    assert evidence.provenance is not None
    assert (evidence.provenance.source, evidence.provenance.commit) == (None, None)


def test_a_statement_of_another_kind_says_what_it_is(server, source) -> None:
    server.occurrences = [
        occurrence(g.BuildOccurrence(in_toto_slsa_provenance_v1=statement_v1(predicate_type="https://spdx.dev/D")))
    ]
    assert source.find(IMAGE)[0].problem == "the statement holds 'https://spdx.dev/D', and not SLSA provenance"


WHERE = "Container Analysis, project acme-vision-prod"


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (
            (grpc.StatusCode.PERMISSION_DENIED, "Permission denied on 'acme-vision-prod'", "IAM_PERMISSION_DENIED"),
            f"{WHERE}: these credentials may not list occurrences; grant roles/containeranalysis.occurrences.viewer.",
        ),
        (
            (grpc.StatusCode.PERMISSION_DENIED, "Container Analysis API has not been used", "SERVICE_DISABLED"),
            f"{WHERE}: the API is not enabled; enable containeranalysis.googleapis.com.",
        ),
        (
            (grpc.StatusCode.PERMISSION_DENIED, "API has not been used in project 1 before or it is disabled.", ""),
            f"{WHERE}: the API is not enabled; enable containeranalysis.googleapis.com.",
        ),
        (
            (grpc.StatusCode.NOT_FOUND, "Requested entity was not found.", ""),
            f"{WHERE}: there is no such project, or it cannot be seen; "
            "grant roles/containeranalysis.occurrences.viewer.",
        ),
        (
            (grpc.StatusCode.UNAUTHENTICATED, "Request had invalid authentication credentials.", ""),
            f"{WHERE}: the credentials were refused; log in again.",
        ),
        (
            (grpc.StatusCode.UNAVAILABLE, "connection reset", ""),
            f"{WHERE}: the service does not answer; try again later.",
        ),
        (
            (grpc.StatusCode.INVALID_ARGUMENT, "bad filter.", ""),
            f"{WHERE}: the service answered INVALID_ARGUMENT: bad filter.",
        ),
    ],
)
def test_each_refusal_is_one_sentence(server, source, failure, sentence) -> None:
    server.failure = failure
    with pytest.raises(ImageError) as raised:
        source.find(IMAGE)
    assert raised.value.sentence == sentence


def test_a_service_that_is_not_there_is_one_sentence() -> None:
    unused = ContainerAnalysis()
    with unused:
        pass
    gone = BuildOccurrences(grafeas_client(unused.address, encrypted=False), seconds=0.3)
    with pytest.raises(ImageError, match="the service does not answer; try again later") as raised:
        gone.find(IMAGE)
    assert "\n" not in raised.value.sentence


def test_images_outside_artifact_registry_have_no_such_provenance(source) -> None:
    with pytest.raises(ImageError, match="Cloud Build keeps provenance of images in Artifact Registry only"):
        source.find(parse(f"localhost:5000/trainer@sha256:{HEX}"))


def test_without_credentials_there_is_one_sentence(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    with pytest.raises(ImageError, match=r"there are no credentials: .*; run `gcloud auth application-default login`"):
        grafeas_client()
