"""Plugin protocol 6: between Python values and the messages that Terraform sends."""

import json
from typing import Any

import msgpack
from tf.gen import tfplugin_pb2 as pb

from terraform.emulator import schema
from terraform.emulator.values import UNKNOWN, Steps

NESTING = {"single": 1, "list": 2, "set": 3, "map": 4, "group": 5}


def unpack(message: pb.DynamicValue) -> Any:
    """A value; both extension codes that Terraform uses (0, and 12 with refinements) mean unknown."""
    if message.json:
        return json.loads(message.json)
    if not message.msgpack:
        return None
    return msgpack.unpackb(message.msgpack, ext_hook=lambda code, data: UNKNOWN, strict_map_key=False)


def pack(value: Any) -> pb.DynamicValue:
    """The message for a value."""
    return pb.DynamicValue(msgpack=msgpack.packb(value, default=lambda unknown: msgpack.ExtType(0, b"\0")))


def diagnostic(summary: str, detail: str = "", steps: Steps = ()) -> pb.Diagnostic:
    """An error that Terraform shows, at the attribute if one is named."""
    attribute = path(steps) if steps else None
    return pb.Diagnostic(severity=pb.Diagnostic.ERROR, summary=summary, detail=detail, attribute=attribute)


def path(steps: Steps) -> pb.AttributePath:
    """A place in a value."""
    return pb.AttributePath(
        steps=[
            pb.AttributePath.Step(element_key_int=step)
            if isinstance(step, int)
            else pb.AttributePath.Step(attribute_name=step)
            for step in steps
        ]
    )


def schema_message(document: dict[str, Any]) -> pb.Schema:
    """A resource's schema."""
    return pb.Schema(version=document.get("version", 0), block=_block(document["block"]))


def _block(block: schema.Block) -> pb.Schema.Block:
    return pb.Schema.Block(
        attributes=[
            pb.Schema.Attribute(
                name=name,
                type=json.dumps(attribute["type"]).encode(),
                **{flag: attribute.get(flag, False) for flag in ("required", "optional", "computed")},
            )
            for name, attribute in schema.attributes(block).items()
        ],
        block_types=[
            pb.Schema.NestedBlock(
                type_name=name,
                block=_block(kind["block"]),
                nesting=NESTING[kind["nesting_mode"]],
                min_items=kind.get("min_items", 0),
                max_items=kind.get("max_items", 0),
            )
            for name, kind in schema.blocks(block).items()
        ],
    )
