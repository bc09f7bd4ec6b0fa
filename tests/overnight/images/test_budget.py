"""What an image may hold: one that is in order passes, and each thing that is wrong has its sentence."""

import json
import re
from pathlib import Path

import pytest

from image_archives import BASE, BY_TIME, OURS, File, Image, folder, layer, link
from overnight.errors import OvernightError
from overnight.images.budget import Allowed, Budget, examine, read_budget
from overnight.images.contents import Contents, read_contents

ROOT = Path(__file__).parents[3]
BUDGET = Budget(layer_megabytes=1, image_megabytes=1, layers=3)


@pytest.fixture
def read(tmp_path):
    return lambda image: read_contents(image.docker(tmp_path / "image.tar"))


def sentences(contents: Contents, budget: Budget = BUDGET) -> list[str]:
    return [flaw.sentence for flaw in examine(contents, budget)]


def ours(*files: File) -> Image:
    """An image whose own layer holds `files` too."""
    return Image(layers=[layer(*BASE), layer(*OURS, *files)])


def base(*files: File) -> Image:
    """An image whose base holds `files` too."""
    return Image(layers=[layer(*BASE, *files), layer(*OURS)])


def test_an_image_in_order_passes(read) -> None:
    assert sentences(read(Image())) == []


def test_one_without_a_cpu_switch_passes(read) -> None:
    image = Image()
    del image.config["config"]["Labels"]["dev.overnight.cpu"]
    said = OURS[2].data.replace(b'"baseline"', b"null")
    image.layers[1] = layer(*OURS[:2], File("opt/app/image.json", said))
    assert sentences(read(image)) == []


def test_a_folder_that_nothing_stands_in_is_no_layer_of_ours(read) -> None:
    image = Image()
    image.layers.append(layer())
    assert sentences(read(image)) == []


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        (
            {"layer_megabytes": 2},
            "Our layer takes 3 MB and the budget is 2 MB; see in the table what is large and take it out, or raise "
            "layer_megabytes.",
        ),
        (
            {"image_megabytes": 2},
            "The image takes 3 MB and the budget is 2 MB; see in the table what is large and take it out, or raise "
            "image_megabytes.",
        ),
        (
            {"layers": 1},
            "The image has 2 layers and the budget is 1; copy in one step, take another base, or raise layers.",
        ),
    ],
)
def test_over_budget_is_told_with_both_numbers(read, budget, sentence) -> None:
    contents = read(ours(File("opt/app/large", bytes(2_500_000))))
    assert sentences(contents, Budget(**{"layer_megabytes": 9, "image_megabytes": 9, "layers": 9, **budget})) == [
        sentence
    ]


@pytest.mark.parametrize(
    ("user", "said"), [("", "''"), (None, "''"), ("root", "'root'"), ("0", "'0'"), ("0:0", "'0:0'"), ("app", "'app'")]
)
def test_a_user_that_is_root_or_only_a_name_is_refused(read, user, said) -> None:
    image = Image()
    image.config["config"]["User"] = user
    assert sentences(read(image)) == [f"The user is {said}; set USER to a number that is not 0, such as 10001:10001."]


def test_an_image_without_an_entry_point_is_refused(read) -> None:
    image = Image()
    del image.config["config"]["Entrypoint"]
    assert sentences(read(image)) == ["There is no entry point; set ENTRYPOINT to the command that the image is for."]


@pytest.mark.parametrize(
    ("label", "value", "sentence"),
    [
        ("source", None, "is missing; set it to the repository's https address."),
        ("source", "http://github.com/acme/vision", "is 'http://github.com/acme/vision'; set it to the repository's "),
        ("source", "git@github.com:acme/vision", "is 'git@github.com:acme/vision'; set it to the repository's "),
        ("revision", "0123456", "is '0123456'; set it to the whole commit."),
        ("revision", "main", "is 'main'; set it to the whole commit."),
        ("revision", 7, "is 7; set it to the whole commit."),
        ("title", "", "is ''; set it to the image's name."),
    ],
)
def test_a_label_that_tells_nothing_is_refused(read, label, value, sentence) -> None:
    image = Image()
    name = f"org.opencontainers.image.{label}"
    image.config["config"]["Labels"][name] = value
    first, *rest = sentences(read(image))
    assert first.startswith(f"The label {name} {sentence}")
    assert rest == ["/opt/app/image.json does not say what the labels say; write both from the same arguments."]


def test_an_unknown_cpu_is_refused(read) -> None:
    image = Image()
    image.config["config"]["Labels"]["dev.overnight.cpu"] = "native"
    assert sentences(read(image))[0] == "The label dev.overnight.cpu is 'native'; set it to baseline or x86-64-v3."


@pytest.mark.parametrize(
    "variable",
    [
        *("API_KEY=x", "GITHUB_TOKEN=x", "DB_PASSWORD=x", "MY_SECRET=x", "GOOGLE_APPLICATION_CREDENTIALS=/key.json"),
        f"SETTING=ghp_{'a' * 36}",
        "KEY=-----BEGIN PRIVATE KEY-----",
    ],
)
def test_a_variable_that_looks_like_a_secret_is_refused_without_its_value(read, variable) -> None:
    image = Image()
    image.config["config"]["Env"].append(variable)
    name = variable.partition("=")[0]
    assert sentences(read(image)) == [
        f"The variable {name} looks like a secret; everyone who may pull could read it: take it out."
    ]


@pytest.mark.parametrize("variable", ["GPG_KEY=A035C8C1", "TOKENIZERS_PARALLELISM=false", "API_KEY=", "KEYS=2", "odd"])
def test_other_variables_pass(read, variable) -> None:
    image = Image()
    image.config["config"]["Env"].append(variable)
    assert sentences(read(image)) == []


@pytest.mark.parametrize(
    ("path", "what"),
    [
        *(
            (f"usr/bin/{name}", "a compiler")
            for name in ("gcc", "g++-12", "cc", "c++", "clang-16", "x86_64-linux-gnu-ld")
        ),
        *((f"usr/local/bin/{name}", "a compiler") for name in ("make", "cmake", "ninja", "nvcc", "as")),
        ("usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "a compiler"),
        *((f"opt/conda/bin/{name}", "a package installer") for name in ("pip", "pip3.11", "conda", "uv")),
        ("usr/lib/python3/dist-packages/pip/__init__.py", "a package installer"),
        ("usr/lib/python3.11/ensurepip/_bundled/pip-23.0.1-py3-none-any.whl", "a package installer"),
        ("usr/share/python-wheels/pip-23.0.1-py3-none-any.whl", "a package installer"),
    ],
)
def test_compilers_and_installers_are_refused_in_the_base_too(read, path, what) -> None:
    assert sentences(read(base(File(path)))) == [
        f"The image holds {what} (/{path}); remove it, take a base without it, or allow it with a reason in "
        "allowed_in_base."
    ]


@pytest.mark.parametrize(
    "path",
    ["usr/share/bash-completion/completions/make", "usr/bin/python3.11", "usr/share/doc/gcc", "usr/bin/ldd", "etc/cc"],
)
def test_names_that_only_look_alike_pass(read, path) -> None:
    assert sentences(read(base(File(path)))) == []


def test_a_link_to_a_compiler_is_one(read) -> None:
    assert sentences(read(base(link("usr/bin/cc", "/etc/alternatives/cc"))))[0].startswith("The image holds a compiler")


def test_what_a_layer_takes_away_is_gone(read) -> None:
    image = base(File("usr/bin/gcc"))
    image.layers.insert(1, layer(File("usr/bin/.wh.gcc")))
    assert sentences(read(image)) == []


def test_the_base_may_hold_what_is_allowed_with_a_reason(read) -> None:
    allowed = (Allowed(path="usr/bin/gcc*", reason="PyTorch compiles kernels at run time"),)
    budget = BUDGET.model_copy(update={"allowed_in_base": allowed})
    assert sentences(read(base(File("usr/bin/gcc-12"))), budget) == []
    assert len(sentences(read(base(File("usr/bin/make"))), budget)) == 1


def test_nothing_is_allowed_in_our_own_layer(read) -> None:
    budget = BUDGET.model_copy(update={"allowed_in_base": (Allowed(path="*", reason="because it is convenient"),)})
    assert len(sentences(read(ours(File("opt/app/bin/pip"))), budget)) == 1


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        (File("etc/motd"), "/etc/motd stands outside /opt; leave the rest of the base as it is."),
        (File("opt/app/x", mode=0o4755), "/opt/app/x is setuid or setgid; take the bit away."),
        (File("opt/app/x", mode=0o666), "/opt/app/x can be written by everyone; fix its mode."),
        (folder("opt/app/x", mode=0o777), "/opt/app/x can be written by everyone; fix its mode."),
        (File("opt/app/x", owner=10001), "/opt/app/x does not belong to root; copy it without --chown."),
        (File("opt/app/x", kind=b"6"), "/opt/app/x is a device or a pipe; take it out."),
        (File("opt/app/.git/HEAD"), "/opt/app/.git/HEAD is Git's; keep it out of the build's context."),
        (
            File("opt/app/a.pyc", BY_TIME),
            "/opt/app/a.pyc is compiled Python that depends on a time; compile with unchecked-hash.",
        ),
        (
            File("opt/app/a.pyc", b"short"),
            "/opt/app/a.pyc is compiled Python that depends on a time; compile with unchecked-hash.",
        ),
        (File("opt/app/x", mtime=7), "/opt/app/x has a time of its own; set all to SOURCE_DATE_EPOCH, 0."),
    ],
)
def test_what_does_not_belong_into_our_layer_is_refused(read, file, problem) -> None:
    assert sentences(read(ours(file))) == [f"In our layer {problem}"]


@pytest.mark.parametrize(
    "file",
    [File("usr/bin/su", mode=0o4755), folder("tmp", mode=0o1777), File("a.pyc", BY_TIME), File("srv/x", owner=5)],
)
def test_the_base_may_be_as_it_is(read, file) -> None:
    assert sentences(read(base(file))) == []


def test_a_link_may_have_any_mode(read) -> None:
    assert sentences(read(ours(link("opt/app/x", "y")))) == []


def test_of_many_files_three_are_named(read) -> None:
    files = [File(f"opt/app/{number}", mtime=7) for number in range(12)]
    assert sentences(read(ours(*files))) == [
        "In our layer /opt/app/0, /opt/app/1, /opt/app/2 and 9 others has a time of its own; set all to "
        "SOURCE_DATE_EPOCH, 0."
    ]


def test_a_second_layer_of_ours_is_refused(read) -> None:
    image = Image()
    image.layers.append(layer(File("opt/app/late")))
    assert sentences(read(image)) == ["Ours are 2 layers; the runtime stage is one COPY, so remove what else it does."]


def test_an_image_of_somebody_else_is_refused(read) -> None:
    assert sentences(read(Image(layers=[layer(*BASE)]))) == [
        "No layer holds /opt/app/image.json; build the image with one of images/*/Dockerfile."
    ]


@pytest.mark.parametrize("created", ["2026-11-30T17:00:00Z", "yesterday", None, 0])
def test_an_image_that_tells_when_it_was_built_is_refused(read, created) -> None:
    image = Image()
    image.config["created"] = created
    assert sentences(read(image)) == [
        f"The image was created at {created!r}, not at 1970-01-01T00:00:00Z; build with --build-arg "
        "SOURCE_DATE_EPOCH=0 and BuildKit, or the digest is another one each time."
    ]


@pytest.mark.parametrize(
    "said", [b"", b"{}", b"[" * 90_000, OURS[2].data.replace(b"0123456789", b"9876543210", 1), b"\xff"]
)
def test_a_description_that_contradicts_the_labels_is_refused(read, said) -> None:
    image = Image(layers=[layer(*BASE), layer(File("opt/app/image.json", said))])
    assert sentences(read(image)) == [
        "/opt/app/image.json does not say what the labels say; write both from the same arguments."
    ]


def test_a_description_in_another_form_is_refused(read) -> None:
    compact = json.dumps(json.loads(OURS[2].data)).encode()
    image = Image(layers=[layer(*BASE), layer(File("opt/app/image.json", compact))])
    assert sentences(read(image)) == ["/opt/app/image.json is not canonical JSON; write keys sorted, indented by two."]


@pytest.mark.parametrize(
    "config", [{}, {"config": None}, {"config": []}, {"config": {"Env": 3, "Labels": [], "User": 7}}]
)
def test_a_configuration_that_says_nothing_has_findings_and_no_traceback(read, config) -> None:
    assert len(sentences(read(Image(config=config)))) >= 5


@pytest.mark.parametrize("path", sorted((ROOT / "images").glob("*/budget.yaml")), ids=lambda path: path.parent.name)
def test_the_budgets_of_the_images_can_be_read(path) -> None:
    budget = read_budget(path)
    assert budget.layer_megabytes < budget.image_megabytes


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "this is no mapping of fields; see images/steps/budget.yaml."),
        ("- 1", "this is no mapping of fields; see images/steps/budget.yaml."),
        ("a: [", "this is not YAML; see images/steps/budget.yaml."),
        ("a: 1\na: 2", "this is not YAML; see images/steps/budget.yaml."),
        ("layer_megabytes: 1\nimage_megabytes: 2", "layers: "),
        ("layer_megabytes: 1\nimage_megabytes: 2\nlayers: 128", "layers: "),
        ("layer_megabytes: '1'\nimage_megabytes: 2\nlayers: 1", "layer_megabytes: "),
        ("layer_megabytes: 1\nimage_megabytes: 2\nlayers: 1\nsize: 3", "size: "),
        (
            "layer_megabytes: 1\nimage_megabytes: 2\nlayers: 1\nallowed_in_base: [{path: a}]",
            "allowed_in_base[0].reason: ",
        ),
        (
            "layer_megabytes: 1\nimage_megabytes: 2\nlayers: 1\nallowed_in_base: [{path: a, reason: no}]",
            "allowed_in_base[0].",
        ),
    ],
)
def test_a_budget_that_is_wrong_is_one_sentence(tmp_path, text, problem) -> None:
    path = tmp_path / "budget.yaml"
    path.write_text(text)
    with pytest.raises(OvernightError) as error:
        read_budget(path)
    sentence = re.sub(f"^{re.escape(str(path))}(, |: )", "", error.value.sentence)
    assert sentence.startswith(problem)
    assert "\n" not in sentence


def test_a_budget_in_another_encoding_is_one_sentence(tmp_path) -> None:
    path = tmp_path / "budget.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OvernightError, match="this is not YAML"):
        read_budget(path)
