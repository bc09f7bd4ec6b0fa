"""Networks, Private Service Connect, and encryption keys: full resource names, in the job's region."""

import re
from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView

NETWORK_NAME = error(
    "network-name",
    "network is projects/NUMBER/global/networks/NAME, with the project's number.",
    "0 rule 13; API v1 protobuf",
)
NETWORK_AND_PSC = warning(
    "network-and-psc",
    "network and pscInterfaceConfig are alternatives (inferred).",
    "0 rule 13; general/vpc-psc-i-setup",
)
RESERVED_RANGES = error("reserved-ip-ranges", "reservedIpRanges go with network.", "1.1; API v1 protobuf")
PSC_ATTACHMENT = error(
    "psc-attachment",
    "pscInterfaceConfig names a network attachment in the job's region.",
    "1.1; general/vpc-psc-i-setup",
)
DNS_DOMAIN = error("dns-domain", "A peered DNS domain ends with a dot.", "1.1; API v1 protobuf (DnsPeeringConfig)")
KEY_NAME = error(
    "key-name",
    "kmsKeyName is the full name of a key in the job's region.",
    "1.1, 4; API v1 protobuf (EncryptionSpec)",
)
KEY_MISSING = warning(
    "key-missing", "In an environment with customer-managed keys a job names its key.", "1.1; config (cmek)"
)

_NETWORK = re.compile(r"projects/([^/]+)/global/networks/[a-z]([a-z0-9-]*[a-z0-9])?")
_ATTACHMENT = re.compile(r"projects/[^/]+/regions/([^/]+)/networkAttachments/[^/]+")
_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")


def network(job: JobView, context: Context) -> Iterator[Finding]:
    """The peered network."""
    name = job.spec.get("network")
    if "reservedIpRanges" in job.spec and not name:
        said = "reservedIpRanges are ranges of the peered network, and there is none"
        yield RESERVED_RANGES.at(job.at("reservedIpRanges"), said, "add network, or remove them")
    if name is None:
        return
    match = _NETWORK.fullmatch(name)
    if match is None:
        said = f"{name!r} is not the full name of a network"
        yield NETWORK_NAME.at(job.at("network"), said, "write projects/PROJECT_NUMBER/global/networks/NAME")
    elif not match[1].isdigit():
        number = context.project_number if match[1] == context.project_id else None
        said = f"{match[1]} is the project's id, and the API takes its number here"
        yield NETWORK_NAME.at(job.at("network"), said, f"write projects/{number or 'NUMBER'}/global/networks/…")
    if "pscInterfaceConfig" in job.spec:
        said = "peering and Private Service Connect are two ways into a network"
        yield NETWORK_AND_PSC.at(job.at("pscInterfaceConfig"), said, "keep one of them")


def private_service_connect(job: JobView, context: Context) -> Iterator[Finding]:
    """The interface into a network."""
    config = job.spec.get("pscInterfaceConfig")
    if config is None:
        return
    where = job.at("pscInterfaceConfig", "networkAttachment")
    name = config.get("networkAttachment", "")
    match = _ATTACHMENT.fullmatch(name)
    if match is None:
        said = f"{name!r} is not the full name of a network attachment"
        yield PSC_ATTACHMENT.at(where, said, "write projects/PROJECT/regions/REGION/networkAttachments/NAME")
    elif job.region and match[1] != job.region:
        said = f"the attachment stands in {match[1]}, the job runs in {job.region}"
        yield PSC_ATTACHMENT.at(where, said, "name an attachment of the job's region")
    for index, peering in enumerate(config.get("dnsPeeringConfigs", [])):
        domain = peering.get("domain", "")
        if not domain.endswith("."):
            said = f"the domain {domain!r} does not end with a dot"
            yield DNS_DOMAIN.at(
                job.at("pscInterfaceConfig", "dnsPeeringConfigs", index, "domain"), said, f"write {domain}."
            )


def key(job: JobView, context: Context) -> Iterator[Finding]:
    """The encryption key."""
    where = (*job.path, "encryptionSpec", "kmsKeyName")
    name = job.data.get("encryptionSpec", {}).get("kmsKeyName")
    if not name:
        if context.kms_key and not job.persistent_resource:
            said = "the environment has customer-managed keys, and this job's disks would be under Google's"
            yield KEY_MISSING.at((*job.path, "encryptionSpec"), said, f"write kmsKeyName: {context.kms_key}")
        return
    match = _KEY.fullmatch(name)
    if match is None:
        said = f"{name!r} is not the full name of a key"
        yield KEY_NAME.at(where, said, "write projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY")
    elif job.region and match[1] != job.region:
        said = f"the key stands in {match[1]}, the job runs in {job.region}"
        yield KEY_NAME.at(where, said, "use a key of the job's region")


CHECKS: tuple[Check, ...] = ()
CLOUD_CHECKS: tuple[Check, ...] = (network, private_service_connect, key)
