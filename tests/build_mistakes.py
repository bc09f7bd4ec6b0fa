"""One mistake each in a build file that is in order, and the rules that must speak up about it, those and no others."""

from build_edits import add, also, drop, mistakes, step, swap

DIGEST = "sha256:" + "0" * 64
STRICT = "#!/usr/bin/env bash\nset -euo pipefail\n"


FORM = mistakes(
    "house",
    ("unknown field", lambda b: b.update(machineType="E2_MEDIUM"), "unknown-field"),
    ("unknown field of a step", lambda b: step(b, "build").update(entryPoint="x"), "unknown-field"),
    ("snake case", lambda b: step(b, "build").update(wait_for=["wheels"]), "unknown-field"),
    ("wrong enum", lambda b: b["options"].update(requestedVerifyOption="verified"), "wrong-value"),
    ("minutes", lambda b: b.update(timeout="30m"), "wrong-value"),
    ("a number for a duration", lambda b: b.update(timeout=1800), "wrong-value"),
    ("args as text", lambda b: step(b, "build").update(args="build ."), "wrong-value"),
    ("a number in args", lambda b: step(b, "build")["args"].append(5), "wrong-value"),
    ("a number as a substitution", lambda b: b["substitutions"].update(_VERSION=1), "wrong-value"),
    ("steps as a mapping", lambda b: b.update(steps={}), "wrong-value"),
    ("nothing in a field", lambda b: b.update(tags=None), "wrong-value"),
    ("a status", lambda b: b.update(status="SUCCESS"), "output-only"),
    ("results", lambda b: b.update(results={}), "output-only"),
    ("a time of creation", lambda b: b.update(createTime="2026-12-01T00:00:00Z"), "output-only"),
    ("a step's status", lambda b: step(b, "build").update(status="SUCCESS"), "output-only"),
)

STEPS = mistakes(
    "house",
    ("a step without an image", lambda b: step(b, "record").pop("name"), "step-without-name"),
    ("an id that waitFor keeps", lambda b: step(b, "record").update(id="-"), "bad-id"),
    ("a space in an id", lambda b: step(b, "record").update(id="to record"), "bad-id"),
    ("an id twice", lambda b: step(b, "record").update(id="build"), "duplicate-id"),
    ("waiting for nobody", lambda b: step(b, "build").update(waitFor=["wheel"]), "wait-for"),
    ("waiting for itself", lambda b: step(b, "build").update(waitFor=["build"]), "wait-for"),
    ("waiting for a later step", lambda b: step(b, "build").update(waitFor=["digest"]), "wait-for"),
    ("waiting for nothing and something", lambda b: step(b, "build").update(waitFor=["-", "wheels"]), "wait-for"),
    ("args beside a script", lambda b: step(b, "wheels").update(args=["x"]), "script-alone"),
    ("an entrypoint beside a script", lambda b: step(b, "wheels").update(entrypoint="sh"), "script-alone"),
    ("failure allowed twice", lambda b: step(b, "digest").update(allowFailure=True), "allowed-failures"),
    ("an exit code that is none", lambda b: step(b, "digest").update(allowExitCodes=[256]), "allowed-failures"),
    ("a folder above", lambda b: step(b, "build").update(dir="../x"), "dir-outside"),
    ("a folder elsewhere", lambda b: step(b, "build").update(dir="/tmp"), "dir-outside"),
    ("a variable without a value", lambda b: step(b, "build")["env"].append("DEBUG"), "env-form"),
    ("a variable twice", lambda b: step(b, "build")["env"].append("BUILDX_NO_DEFAULT_ATTESTATIONS=1"), "env-twice"),
    ("a variable twice for all", lambda b: b["options"]["env"].append("CHECKPOINT_DISABLE=0"), "env-twice"),
    ("a step longer than the build", lambda b: step(b, "build").update(timeout="1801s"), "step-timeout"),
    (
        "a step longer than an hour",
        lambda b: (b.pop("timeout"), step(b, "build").update(timeout="3601s")),
        "step-timeout",
    ),
    ("no time", lambda b: b.update(timeout="0s", queueTtl="1s"), "timeout-range step-timeout"),
    ("two days", lambda b: b.update(timeout="172800s"), "timeout-range"),
    ("two days of waiting", lambda b: b.update(queueTtl="172800s"), "timeout-range"),
    ("101 args", lambda b: step(b, "record")["args"].extend(["x"] * 98), "limit"),
    ("a long argument", lambda b: step(b, "record")["args"].append("x" * 10_001), "limit"),
    ("a long substitution", lambda b: b["substitutions"].update(_VERSION="v" * 4_001), "image-name limit"),
)

NAMES = mistakes(
    "house",
    (
        "a misspelt substitution",
        lambda b: swap(b, "build", "$_REPOSITORY", "$_REPOSITRY"),
        "image-not-built undeclared-substitution",
    ),
    ("an unknown one in a script", lambda b: add(b, "digest", 'echo "$_VERSIONS"'), "undeclared-substitution"),
    ("a variable of the shell in args", lambda b: swap(b, "record", "$$HOME", "$HOME"), "undeclared-substitution"),
    ("an unused substitution", lambda b: b["substitutions"].update(_OTHER="x"), "unused-substitution"),
    ("a small letter", lambda b: b["substitutions"].update(_Other="x"), "substitution-name"),
    ("no underscore", lambda b: b["substitutions"].update(OTHER="x"), "substitution-name"),
    (
        "a script that sees none",
        lambda b: step(b, "digest").update(
            automapSubstitutions=False,
            env=["_CACHE_REPOSITORY=$_CACHE_REPOSITORY", "_VERSION=$_VERSION", "_REPOSITORY=$_REPOSITORY"],
        ),
        "script-substitution",
    ),
    ("an expansion of triggers only", lambda b: b["options"].pop("dynamicSubstitutions"), "dynamic-expansion"),
    ("an expansion that is none", lambda b: swap(b, "record", ":0:1", "@Q"), "dynamic-expansion"),
    ("a secret that nobody declares", lambda b: step(b, "build").update(secretEnv=["OTHER"]), "secret-undeclared"),
    ("a secret that nobody uses", lambda b: step(b, "digest").pop("secretEnv"), "secret-unused"),
    ("a secret that is plain too", lambda b: step(b, "digest").update(env=["SIGNER=$PROJECT_ID"]), "secret-twice"),
    (
        "a secret twice",
        lambda b: b["availableSecrets"]["secretManager"].append(b["availableSecrets"]["secretManager"][0]),
        "secret-twice",
    ),
    (
        "the latest secret",
        lambda b: b["availableSecrets"]["secretManager"][0].update(versionName="projects/p/secrets/s/versions/latest"),
        "secret-version",
    ),
    (
        "a secret without a version",
        lambda b: b["availableSecrets"]["secretManager"][0].update(versionName="projects/p/secrets/s"),
        "secret-version",
    ),
    ("a secret in args", lambda b: step(b, "record")["args"].append("$$SIGNER"), "secret-in-args"),
)

OUTPUTS = mistakes(
    "house",
    ("an image that nobody builds", lambda b: b["images"].append("$_REPOSITORY/other:$COMMIT_SHA"), "image-not-built"),
    ("two lists of images", lambda b: b["artifacts"].update(images=["$_REPOSITORY/other:1"]), "images-differ"),
    ("a space in an image", lambda b: b["images"].append("$_REPOSITORY/app: 1"), "image-name"),
    ("an unseen space in an image", lambda b: b["images"].append("$_REPOSITORY/app:\u200b1"), "image-name"),
    ("a space that does not break", lambda b: b["images"].append("$_REPOSITORY/app\u00a0:1"), "image-name"),
    ("a capital letter in an image", lambda b: b["images"].append("$_REPOSITORY/App:1"), "image-name"),
    ("objects beside Cloud Storage", lambda b: b["artifacts"]["objects"].update(location="s3://x/"), "artifact-paths"),
    ("objects without paths", lambda b: b["artifacts"]["objects"].pop("paths"), "artifact-paths"),
    ("a path twice", lambda b: b["artifacts"]["objects"]["paths"].append("wheels.txt"), "artifact-paths"),
    ("two paths in one", lambda b: b["artifacts"]["objects"].update(paths=["a b"]), "artifact-paths"),
    ("a tag with a slash", lambda b: b["tags"].append("a/b"), "build-tags"),
    ("65 tags", lambda b: b["tags"].extend(f"t{i}" for i in range(63)), "build-tags"),
    ("a volume for one step", lambda b: step(b, "build").pop("volumes"), "volume"),
    ("a volume over the workspace", lambda b: step(b, "build")["volumes"][0].update(path="/workspace"), "volume"),
    ("a volume at a relative path", lambda b: step(b, "build")["volumes"][0].update(path="wheels"), "volume"),
    ("a loose script", lambda b: swap(b, "digest", "set -euo pipefail", "set -e"), "script-strict"),
    ("a script for sh", lambda b: swap(b, "digest", "#!/usr/bin/env bash\n", ""), "script-strict"),
    ("a quote without an end", lambda b: add(b, "digest", 'echo "'), "script-parses"),
    ("an if without an end", lambda b: add(b, "digest", "if true; then"), "script-parses"),
    ("a script that is not there", lambda b: swap(b, "record", "record.sh", "recrod.sh"), "script-missing"),
    ("a Dockerfile that is not there", lambda b: swap(b, "build", "app/Dockerfile", "ap/Dockerfile"), "file-missing"),
    ("requirements that are not there", lambda b: swap(b, "wheels", "app/req", "req"), "file-missing"),
    ("policies that are not there", lambda b: swap(b, "apply", "--policy rules", "--policy rule"), "file-missing"),
)

POLICIES = mistakes(
    "house",
    ("a step by tag", lambda b: step(b, "record").update(name="docker.io/library/python:3.11"), "OVN2001"),
    (
        "a step by a declared tag",
        lambda b: (b["substitutions"].update(_TOOL="debian:12"), step(b, "record").update(name="$_TOOL")),
        "OVN2001",
    ),
    (
        "Container Registry",
        lambda b: step(b, "record").update(name=f"gcr.io/cloud-builders/docker@{DIGEST}"),
        "OVN2002",
    ),
    ("latest", lambda b: add(b, "apply", "docker pull debian:latest"), "OVN2003"),
    ("latest by default", lambda b: b["images"].append("$_REPOSITORY/app"), "OVN2003 image-not-built"),
    ("no base for the runtime", lambda b: drop(b, "build", "--build-arg", "RUNTIME_IMAGE=$_BASE_STEPS"), "OVN2004"),
    ("a base by tag", lambda b: swap(b, "build", "$_BASE_STEPS", "debian:12"), "OVN2005"),
    ("logs in a bucket", lambda b: b["options"].update(logging="LEGACY"), "OVN2011"),
    ("no word about logs", lambda b: b["options"].pop("logging"), "OVN2011"),
    ("an account of its own", lambda b: b.update(serviceAccount="projects/p/serviceAccounts/x@y.z"), "OVN2012"),
    ("another pool", lambda b: b["options"]["pool"].update(name="projects/p/locations/l/workerPools/w"), "OVN2013"),
    ("no pool", lambda b: b["options"].pop("pool"), "OVN2013"),
    ("curl into bash", lambda b: add(b, "apply", "curl -sSL https://x.example/i | bash"), "OVN2014"),
    ("a token in plain text", lambda b: step(b, "build")["env"].append("GITHUB_TOKEN=abc"), "OVN2015"),
    (
        "a password in plain text",
        lambda b: b["substitutions"].update(_PASSWORD="hunter2"),
        "OVN2015 unused-substitution",
    ),
    ("power over the machine", lambda b: add(b, "digest", "docker run --privileged x"), "OVN2016"),
    ("the host's network", lambda b: step(b, "build")["args"].insert(1, "--network=host"), "OVN2016"),
    ("an unlocked install", lambda b: add(b, "wheels", "pip install numpy"), "OVN2017"),
    ("a download without hashes", lambda b: swap(b, "wheels", "--require-hashes ", ""), "OVN2017"),
    ("provenance if it can be had", lambda b: b["options"].update(requestedVerifyOption="BEST_EFFORT"), "OVN2021"),
    ("a push of its own", lambda b: swap(b, "digest", 'cached="$_CACHE_REPOSITORY', 'cached="$_REPOSITORY'), "OVN2022"),
    ("buildx pushes", lambda b: step(b, "build")["args"].insert(1, "--push"), "OVN2022"),
    ("a cache among releases", lambda b: swap(b, "build", "ref=$_CACHE_REPOSITORY", "ref=$_REPOSITORY"), "OVN2023"),
    ("the time in an image", lambda b: drop(b, "build", "--build-arg", "SOURCE_DATE_EPOCH=0"), "OVN2024"),
    ("an attestation by itself", lambda b: step(b, "build").pop("env"), "OVN2025"),
    ("no plan", lambda b: swap(b, "apply", "apply plan", "apply -auto-approve"), "OVN2031"),
    ("no policies", lambda b: swap(b, "apply", "conftest test --policy rules plan.json", ":"), "OVN2032"),
    (
        "policies too early",
        lambda b: swap(b, "apply", "terraform apply", "terraform plan -out=plan\nterraform apply"),
        "OVN2032",
    ),
    ("destruction", lambda b: add(b, "apply", "terraform destroy"), "OVN2033"),
)

OURS = [
    *mistakes(
        "pull-request",
        ("no steps", lambda b: b.update(steps=[]), "no-steps"),
        ("another image", lambda b: step(b, "test").update(name="us-docker.pkg.dev/p/r/builder:1"), "OVN2001"),
        ("a substitution unseen", lambda b: add(b, "test", 'echo "$_ENVIRONMENT"'), "script-substitution"),
        ("no end", lambda b: b.update(timeout="100000s"), "timeout-range"),
        ("policies elsewhere", lambda b: swap(b, "policies", "policies/cloudbuild", "policies/cloud"), "file-missing"),
    ),
    *mistakes(
        "infra-plan",
        ("a stack script misspelt", lambda b: swap(b, "training", "stack.sh", "stak.sh"), "script-missing"),
        ("a wrong order", lambda b: step(b, "foundation").update(waitFor=["training"]), "wait-for"),
        (
            "an undeclared substitution",
            lambda b: swap(b, "synthesize", "$_CONFIG", "$_CONFG"),
            "undeclared-substitution",
        ),
        ("plans in no bucket", lambda b: b["artifacts"]["objects"].update(location="plans/"), "artifact-paths"),
    ),
    *mistakes(
        "infra-apply",
        ("an account", lambda b: b.update(serviceAccount="projects/p/serviceAccounts/deploy@p.iam"), "OVN2012"),
        (
            "applying beside the script",
            lambda b: also(b, script=f"{STRICT}terraform plan -out=p\nterraform apply p\n"),
            "OVN2032",
        ),
        ("the default pool", lambda b: b["options"].pop("pool"), "OVN2013"),
        ("a step that stops nothing", lambda b: swap(b, "policies", "set -euo pipefail\n", ""), "script-strict"),
    ),
]

IMAGES = mistakes(
    "images",
    (
        "an image that nobody builds",
        lambda b: b["images"].append("$_REPOSITORY/trainer-tpu:$COMMIT_SHA"),
        "image-not-built",
    ),
    ("another tag", lambda b: b["images"].__setitem__(0, "$_REPOSITORY/trainer-cpu:$SHORT_SHA"), "image-not-built"),
    ("latest", lambda b: b["images"].__setitem__(0, "$_REPOSITORY/trainer-cpu:latest"), "OVN2003 image-not-built"),
    ("no provenance", lambda b: b["options"].pop("requestedVerifyOption"), "OVN2021"),
    ("attestations by themselves", lambda b: b["options"]["env"].pop(), "OVN2025 OVN2025 OVN2025"),
    ("a push of a release", lambda b: add(b, "release", 'docker push "$_REPOSITORY/steps:$COMMIT_SHA"'), "OVN2022"),
    ("the time", lambda b: swap(b, "steps-build", "--build-arg SOURCE_DATE_EPOCH=0", ""), "OVN2024"),
    ("a base by tag", lambda b: swap(b, "steps-build", "$_BASE_STEPS", "debian:12"), "OVN2005"),
    ("no builder", lambda b: swap(b, "steps-build", '--build-arg "BUILDER_IMAGE=$_BASE_BUILDER"', ""), "OVN2004"),
    (
        "a base that no trigger passes",
        lambda b: swap(b, "steps-build", "$_BASE_STEPS", "$_BASE_STEP"),
        "undeclared-substitution",
    ),
    ("a Dockerfile that is not there", lambda b: swap(b, "steps-build", "images/steps", "images/step"), "file-missing"),
    ("a script that is not there", lambda b: swap(b, "setup", "setup.sh", "set-up.sh"), "script-missing"),
    ("the host's network", lambda b: swap(b, "steps-build", "--network none", "--network host"), "OVN2016"),
    (
        "no substitutions in scripts",
        lambda b: step(b, "steps-build").update(automapSubstitutions=False),
        "script-substitution " * 6,
    ),
    ("a step beyond the build", lambda b: step(b, "steps-build").update(timeout="7200s"), "step-timeout"),
    ("a step that waits for none", lambda b: step(b, "release").update(waitFor=["step-digest"]), "wait-for"),
    ("a substitution that nobody uses", lambda b: b["substitutions"].update(_CUDA="13"), "unused-substitution"),
)

PIPELINE = mistakes(
    "pipeline",
    ("an unlocked install", lambda b: swap(b, "setup", "--constraint requirements/lock.txt", ""), "OVN2017"),
    (
        "another repository",
        lambda b: swap(b, "publish", "$_PIPELINES_REPOSITORY", "$_PIPELINE_REPOSITORY"),
        "undeclared-substitution",
    ),
    ("a step by tag", lambda b: step(b, "compile").update(name="docker.io/library/python:3.11"), "OVN2001"),
)

MISTAKES = [*FORM, *STEPS, *NAMES, *OUTPUTS, *POLICIES, *OURS, *IMAGES, *PIPELINE]
