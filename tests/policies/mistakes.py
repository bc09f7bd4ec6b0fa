"""How a mistake is entered into the table of mutations."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass

from policies.documents import Document, Kind


@dataclass(frozen=True)
class Mutation:
    """A mistake in one document."""

    name: str
    on: Kind
    stack: str
    """The stack of infra/ that holds what it needs; "any" when every one does."""
    mutate: Callable[[Document], None]
    expected: frozenset[str]
    needs: tuple[str, ...] = ()
    """Resource types without which it cannot be made."""

    def applies_to(self, document: Document) -> bool:
        """Whether the document holds what the mistake needs."""
        return self.on == document.kind and all(document.has(type_) for type_ in self.needs)


MUTATIONS: list[Mutation] = []


def mutation(on: Kind, stack: str, expected: str, *needs: str) -> Callable[[Callable[[Document], None]], None]:
    """Enter a function into the table, under its own name; `expected` are rule ids, separated by spaces."""

    def enter(mutate: Callable[[Document], None]) -> None:
        name = f"{mutate.__name__}_{on}"
        MUTATIONS.append(Mutation(name, on, stack, mutate, frozenset(expected.split()), needs))

    return enter


def account(document: Document, role: str) -> str:
    """A service account of the environment as a member."""
    policy = document.policy
    return f"serviceAccount:{policy['environment']}-{role}@{policy['project_id']}.iam.gserviceaccount.com"


def change_request(document: Document, **changes: str) -> None:
    """Change the request that Cloud Scheduler sends."""
    target = document.first("google_cloud_scheduler_job").block("http_target")
    request = json.loads(base64.b64decode(target["body"]))
    target["body"] = base64.b64encode(json.dumps({**request, **changes}).encode()).decode()
