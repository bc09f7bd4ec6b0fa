"""What a job process is told: commands, policy, limits. Made by the server, read with the standard library alone."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from overnight.vertex_local.cluster import ReplicaName
from overnight.vertex_local.command import Command
from overnight.vertex_local.engine.retries import RetryPolicy


@dataclass(frozen=True)
class Plan:
    """One launch of a job. Times in seconds."""

    launch: int
    commands: Mapping[ReplicaName, Command]
    """A replica's address is not known before it starts: `mark(replica)` stands for it."""
    token: str
    """What no argument and no variable contains by chance."""
    timeout: float
    grace: float
    """From SIGTERM to SIGKILL."""
    preempt_after: float | None = None
    """When the machines are taken away, counted from RUNNING."""
    policy: RetryPolicy = field(default_factory=RetryPolicy)

    def mark(self, replica: ReplicaName) -> str:
        """What stands for the replica's `host:port`."""
        return mark(self.token, replica)


def mark(token: str, replica: ReplicaName) -> str:
    """What stands for `host:port` of `replica` in a plan with this token."""
    return f"{token}.{replica}."


def with_addresses(plan: Plan, addresses: Mapping[ReplicaName, str]) -> dict[ReplicaName, Command]:
    """The plan's commands with real addresses in place of the marks."""

    def filled(text: str) -> str:
        if plan.token in text:
            for replica, address in addresses.items():
                text = text.replace(plan.mark(replica), address)
        return text

    return {
        replica: Command(
            tuple(filled(argument) for argument in command.arguments),
            {name: filled(value) for name, value in command.environment.items()},
        )
        for replica, command in plan.commands.items()
    }


def plan_json(plan: Plan) -> str:
    """The plan as JSON."""
    commands = [
        {
            "pool": replica.pool,
            "index": replica.index,
            "arguments": list(command.arguments),
            "environment": dict(command.environment),
        }
        for replica, command in plan.commands.items()
    ]
    plain: dict[str, Any] = {
        name: getattr(plan, name) for name in ("launch", "token", "timeout", "grace", "preempt_after")
    }
    return json.dumps({**plain, "commands": commands, "policy": asdict(plan.policy)})


def parse_plan(text: str) -> Plan:
    """The plan of its JSON."""
    data = json.loads(text)
    commands = {
        ReplicaName(entry["pool"], entry["index"]): Command(tuple(entry["arguments"]), entry["environment"])
        for entry in data.pop("commands")
    }
    return Plan(commands=commands, policy=RetryPolicy(**data.pop("policy")), **data)
