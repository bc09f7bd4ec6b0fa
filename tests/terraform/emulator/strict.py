"""Strict mode: what Google refuses because something it needs is not there yet. It finds missing depends_on."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from terraform.emulator import agents
from terraform.emulator.cloud import Contents, objects, project, read_switches
from terraform.emulator.rules import Rule
from terraform.emulator.values import parts, render

GOOGLE_ACCOUNTS = re.compile(r".+@(gs-project-accounts|bigquery-encryption|gcp-sa-[a-z-]+|[a-z-]+-prod)\.iam\..+")


def refusal(rule: Rule, value: Mapping[str, Any], contents: Contents, settings: Mapping[str, Any]) -> str | None:
    """The API's error for creating `value` now, or None."""
    for check in (_service, _references, _accounts, _role, _grants):
        for problem in check(rule, value, contents, settings):
            return problem
    return None


def _service(rule: Rule, value: Mapping[str, Any], contents: Contents, settings: Mapping[str, Any]) -> Iterator[str]:
    enabled = {each["service"] for each in objects(contents, "google_project_service").values()}
    needed = [rule.api] if isinstance(rule.api, str) else rule.api
    name = project(contents, settings)["project_id"]
    for api in needed:
        if api and api not in enabled and value.get("service") not in needed:
            yield f"Error 403: {api} has not been used in project {name} before or it is disabled. SERVICE_DISABLED"


def _references(rule: Rule, value: Mapping[str, Any], contents: Contents, settings: Mapping[str, Any]) -> Iterator[str]:
    for reference in rule.references:
        for text in _texts(value, reference["at"]):
            match = re.fullmatch(reference["match"], text)
            if match is None:
                continue
            groups = {str(number): group for number, group in enumerate((match[0], *match.groups()))}
            wanted = render(reference["id"], {**_scope(contents, settings), **value, **groups})
            if wanted is not None and not _exists(contents, reference["type"], wanted):
                yield f"Error 404: {reference['type']} {wanted} does not exist (named by {reference['at']})"


def _accounts(rule: Rule, value: Mapping[str, Any], contents: Contents, settings: Mapping[str, Any]) -> Iterator[str]:
    here = project(contents, settings)
    for path in rule.accounts:
        for text in _texts(value, path):
            address = text.rsplit("/", 1)[-1].removeprefix("serviceAccount:")
            # Ours first: a project may be called so that its accounts look like Google's.
            if address.endswith(f"@{here['project_id']}.iam.gserviceaccount.com"):
                resource = f"projects/{here['project_id']}/serviceAccounts/{address}"
                missing = not _exists(contents, "google_service_account", resource)
            elif GOOGLE_ACCOUNTS.fullmatch(address):
                missing = address not in agents.existing(contents, here["number"])
            else:
                missing = False
            if missing:
                yield f"Error 400: Service account {address} does not exist."


def _role(rule: Rule, value: Mapping[str, Any], contents: Contents, settings: Mapping[str, Any]) -> Iterator[str]:
    role = value.get("role")
    own = f"projects/{project(contents, settings)['project_id']}/roles/"
    if (
        isinstance(role, str)
        and role.startswith(own)
        and role not in objects(contents, "google_project_iam_custom_role")
    ):
        yield f"Error 400: Role {role} does not exist in the resource's hierarchy."


def _grants(rule: Rule, value: Mapping[str, Any], contents: Contents, settings: Mapping[str, Any]) -> Iterator[str]:
    for grant in rule.grants:
        member = "serviceAccount:" + str(render(grant["agent"], _scope(contents, settings)))
        for text in _texts(value, grant["at"]):
            on = re.sub(grant.get("cut", "$^"), "", text)
            holders = [each[grant["on"]] for each in _held(contents, grant["type"], member)]
            # A role on a ring is a role on its keys.
            rings = [each["key_ring_id"] for each in _held(contents, "google_kms_key_ring_iam_member", member)]
            if not any(each.endswith(on) for each in holders) and on.partition("/cryptoKeys/")[0] not in rings:
                yield f"Error 400: Permission denied on {on}: grant {member} a role there first."


def _held(contents: Contents, resource_type: str, member: str) -> list[dict[str, Any]]:
    return [each for each in objects(contents, resource_type).values() if each["member"] == member]


def _scope(contents: Contents, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: text for name, text in settings.items() if text}, **project(contents, settings)}


def _exists(contents: Contents, resource_type: str, wanted: str) -> bool:
    return wanted in objects(contents, resource_type) or wanted in read_switches(contents).made_by_hand.get(
        resource_type, []
    )


def _texts(value: Mapping[str, Any], path: str) -> Iterator[str]:
    for _, content in parts(value, path):
        for text in content if isinstance(content, list) else [content]:
            if isinstance(text, str):
                yield text
