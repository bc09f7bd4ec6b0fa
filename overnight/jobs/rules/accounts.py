"""Who the job is: a service account of its own, of the project."""

import re
from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView

ACCOUNT_MISSING = warning(
    "account-missing",
    "A job has a service account: the default is a Google agent with broad rights and no cloud-platform scope.",
    "0 rule 19, 4; googleapis/python-aiplatform#902, #1880; kubeflow/pipelines#9836",
)
ACCOUNT_DEFAULT = warning(
    "account-default",
    "The service account is none of the default ones, which can do far more than train.",
    "0 rule 20, 4; googleapis/python-aiplatform#1880",
)
ACCOUNT_GOOGLE = error(
    "account-google",
    "The service account is one of the project's: Google's agents cannot be acted as.",
    "4; general/custom-service-account",
)
ACCOUNT_NAME = error(
    "account-name", "serviceAccount is the account's e-mail address alone.", "1.1; general/custom-service-account"
)
ACCOUNT_PROJECT = warning(
    "account-project",
    "The account belongs to the environment's project: another one needs tokenCreator and an organisation policy.",
    "4; general/custom-service-account",
)

_EMAIL = re.compile(r"[^@\s/]+@[^@\s/]+\.[a-z]+")
_OWN = re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]@([a-z][a-z0-9-]{4,28}[a-z0-9])\.iam\.gserviceaccount\.com")
_DEFAULT = re.compile(r"[0-9]+-compute@developer\.gserviceaccount\.com|[a-z0-9-]+@appspot\.gserviceaccount\.com")
_GOOGLE = re.compile(
    r".+@(gcp-sa-[a-z-]+\.iam|cloudbuild|cloudservices|cloud-ml\.google\.com\.iam)\.gserviceaccount\.com"
)


def account(job: JobView, context: Context) -> Iterator[Finding]:
    """The service account's name, and whose it is."""
    where = job.at("serviceAccount")
    name = job.service_account
    if name is None:
        if "tensorboard" not in job.spec:
            said = "the code would run as the Custom Code Service Agent, which reads every bucket of the project"
            yield ACCOUNT_MISSING.at(where, said, _own_account(context))
    elif not _EMAIL.fullmatch(name):
        said = f"{name!r} is not the e-mail address of a service account"
        yield ACCOUNT_NAME.at(where, said, "write NAME@PROJECT.iam.gserviceaccount.com")
    elif _GOOGLE.fullmatch(name):
        said = f"{name} is Google's own account; it pulls the image, and nobody may act as it"
        yield ACCOUNT_GOOGLE.at(where, said, _own_account(context))
    elif _DEFAULT.fullmatch(name):
        said = f"{name} is a default account, with far more rights than a training needs"
        yield ACCOUNT_DEFAULT.at(where, said, _own_account(context))
    elif not (match := _OWN.fullmatch(name)):
        said = f"{name} is not a service account of a project"
        yield ACCOUNT_NAME.at(where, said, "write NAME@PROJECT.iam.gserviceaccount.com")
    elif context.project_id and match[1] != context.project_id:
        said = f"the account belongs to {match[1]}, the job to {context.project_id}"
        yield ACCOUNT_PROJECT.at(where, said, "use an account of the project")


def _own_account(context: Context) -> str:
    project = context.project_id or "PROJECT"
    return f"write an account of its own, such as training@{project}.iam.gserviceaccount.com"


CHECKS: tuple[Check, ...] = ()
CLOUD_CHECKS: tuple[Check, ...] = (account,)
