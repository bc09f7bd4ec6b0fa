"""Terraform's view of a provider, rebuilt from the bindings package: what `terraform providers schema -json` says.

The package's tarball holds, for each resource, JavaScript with an inline source map, and in it the TypeScript that
was generated from the provider's schema. That states of each member whether it is computed, optional or required, the
accessor (hence the type), whether it is a block and how it nests, and the provider's documentation, which names
defaults and allowed values. Lost are only `sensitive`, `deprecated` and upper bounds of blocks other than one.
"""

import base64
import importlib.metadata
import importlib.util
import json
import re
import tarfile
from pathlib import Path
from typing import Any

PACKAGE = "cdktn_provider_google"
Schema = dict[str, Any]

ACCESSORS: dict[str, Any] = {
    "getStringAttribute": "string",
    "getNumberAttribute": "number",
    "getBooleanAttribute": "bool",
    "getListAttribute": ["list", "string"],
    "getNumberListAttribute": ["list", "number"],
    "getStringMapAttribute": ["map", "string"],
    "getBooleanMapAttribute": ["map", "bool"],
    "getNumberMapAttribute": ["map", "number"],
    "getAnyMapAttribute": ["map", "string"],
    "interpolationForAttribute": "string",
}
MAP_CLASSES: dict[str, Any] = {
    "StringMap": ["map", "string"],
    "BooleanMap": ["map", "bool"],
    "NumberMap": ["map", "number"],
    "AnyMap": ["map", "string"],
    "StringMapList": ["list", ["map", "string"]],
}
STORAGE_CLASSES: dict[str, Any] = {
    "string": "string",
    "boolean": "bool",
    "number": "number",
    "stringList": ["list", "string"],
    "stringMap": ["map", "string"],
}
MEMBER = re.compile(
    r"^  // ([\w-]+) - computed: (true|false), optional: (true|false), required: (true|false)\n"
    r"(.*?)(?=^  // [\w-]+ - computed: |^  // =+\n|^\}\n)",
    re.DOTALL | re.MULTILINE,
)
CLASS = re.compile(r"^export class (\w+) extends [\w.]+ \{\n.*?^\}\n", re.DOTALL | re.MULTILINE)
INTERFACE = re.compile(r"^export interface (\w+)[^{]*\{\n(.*?)^\}\n", re.DOTALL | re.MULTILINE)
DOCUMENTED = re.compile(r"  /\*\*\n(.*?)  \*/\n  readonly \w+\??:", re.DOTALL)
SERIALIZED = re.compile(
    r"^ +([\w-]+): \{\n\s+value: .*?\n\s+isBlock: (true|false),\n\s+type: \"(\w+)\",\n\s+storageClassType: \"(\w+)\"",
    re.MULTILINE,
)
ALLOWED = re.compile(r"Possible values: \[(.*?)\]", re.DOTALL)
DEFAULT = re.compile(r"Default value(?: is|:) (\"[^\"]*\"|true|false|-?\d+)")


def package_digest(package: str = PACKAGE) -> str:
    """The installed tarball's digest as pip recorded it. Raises ModuleNotFoundError when it is not installed."""
    try:
        record = importlib.metadata.distribution(package.replace("_", "-")).read_text("RECORD") or ""
    except importlib.metadata.PackageNotFoundError as error:
        raise ModuleNotFoundError(f"{package} is not installed") from error
    line = next(line for line in record.splitlines() if ".jsii.tgz," in line)
    return line.split(",")[1].removeprefix("sha256=")


def provider_document(types: list[str], package: str = PACKAGE) -> Schema:
    """Schemas of the provider, of resources, and of data sources (`data.` before the type)."""
    sources = _read(package, [_folder(name) for name in types])
    resources = {name: _resource(name, sources[_folder(name)]) for name in types}
    return {
        "provider": _provider(sources["provider"]),
        "resource_schemas": {name: each for name, each in resources.items() if not name.startswith("data.")},
        "data_source_schemas": {name[5:]: each for name, each in resources.items() if name.startswith("data.")},
    }


def _folder(name: str) -> str:
    bare = name.removeprefix("data.").removeprefix("google_").replace("_", "-")
    return f"data-google-{bare}" if name.startswith("data.") else bare


def _read(package: str, folders: list[str]) -> dict[str, str]:
    """The TypeScript of each folder of the package; the largest resources are cut into several files."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(f"{package} is not installed")
    tarball = next(Path(spec.submodule_search_locations[0], "_jsii").glob("*.tgz"))
    wanted = {"provider", *folders}
    found: dict[str, list[str]] = {}
    with tarfile.open(tarball) as archive:
        for member in archive:
            place = re.fullmatch(r"package/lib/([\w-]+)/(?:index|index-structs/structs\d+)\.js", member.name)
            if place and place[1] in wanted and (file := archive.extractfile(member)):
                found.setdefault(place[1], []).append(_typescript(file.read()))
    if missing := wanted - set(found):
        raise LookupError(f"{package} does not know {', '.join(sorted(missing))}")
    return {folder: "\n".join(sources) for folder, sources in found.items()}


def _typescript(javascript: bytes) -> str:
    encoded = re.search(rb"//# sourceMappingURL=data:application/json;base64,([A-Za-z0-9+/=]+)", javascript)
    assert encoded is not None
    return str(json.loads(base64.b64decode(encoded[1]))["sourcesContent"][0])


def _resource(name: str, source: str) -> Schema:
    reader = _Reader(source)
    terraform_type = name.removeprefix("data.")
    found = (name for name, body in reader.classes.items() if f'tfResourceType = "{terraform_type}"' in body)
    class_name = next(found)
    body = reader.classes[class_name]
    return {"version": 0, "block": reader.block(body, body, f"{class_name}Config")}


def _provider(source: str) -> Schema:
    """The provider's own arguments; the class marks none as required."""
    reader = _Reader(source)
    body = next(body for name, body in reader.classes.items() if name.endswith("Provider"))
    attributes: Schema = {}
    blocks: Schema = {}
    for name, _, nesting, storage in SERIALIZED.findall(body):
        inner = SERIALIZED.findall(reader.serializer(storage.removesuffix("List")))
        if name != "alias" and inner:
            block = {"attributes": {each[0]: _optional(each[3]) for each in inner}}
            blocks[name] = {"nesting_mode": nesting, "max_items": 1, "block": block}
        elif name != "alias":
            attributes[name] = _optional(storage)
    return {"version": 0, "block": {"attributes": attributes, "block_types": blocks}}


def _optional(storage: str) -> Schema:
    return {"type": STORAGE_CLASSES.get(storage, "string"), "optional": True}


class _Reader:
    """One resource's TypeScript."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.classes = {found[1]: found[0] for found in CLASS.finditer(source)}
        self._docs = {found[1]: _docs(found[2]) for found in INTERFACE.finditer(source)}

    def block(self, members: str, serializer: str, interface: str) -> Schema:
        """A block from its class, the function that writes it out, and the interface that documents it."""
        serialized = {name: (block == "true", nesting) for name, block, nesting, _ in SERIALIZED.findall(serializer)}
        docs = self._docs.get(interface, {})
        attributes: Schema = {}
        blocks: Schema = {}
        for name, computed, optional, required, body in MEMBER.findall(members):
            is_block, nesting = serialized.get(name, (False, ""))
            held = re.search(r"= new (\w+?)(List|OutputReference)\(this, \"", body)
            if is_block and held and computed == "false":
                blocks[name] = self._nested(held[1], nesting, required == "true", held[2] == "OutputReference")
            else:
                flags = {"computed": computed, "optional": optional, "required": required}
                attributes[name] = {"type": self._type(body), **{flag: True for flag in flags if flags[flag] == "true"}}
                attributes[name] |= _facts(docs.get(name, ""))
        return {"attributes": attributes, "block_types": blocks}

    def serializer(self, struct: str) -> str:
        """The function that writes a struct out; empty where there is none."""
        name = f"{struct[0].lower()}{struct[1:]}ToHclTerraform"
        found = re.search(rf"^export function {name}\(.*?^\}}\n", self._source, re.DOTALL | re.MULTILINE)
        return found[0] if found else ""

    def _nested(self, struct: str, nesting: str, required: bool, only_one: bool) -> Schema:
        inner = self.block(self.classes[f"{struct}OutputReference"], self.serializer(struct), struct)
        if nesting == "struct":
            return {"nesting_mode": "single", "block": inner}
        bounds = {"min_items": 1} if required else {}
        return {"nesting_mode": nesting, **bounds, **({"max_items": 1} if only_one else {}), "block": inner}

    def _type(self, body: str) -> Any:
        made = re.search(r"= new (?:\w+\.)?(\w+)\(this, \"[\w-]+\"(?:, (true|false))?\)", body)
        if made and made[1] in MAP_CLASSES:
            return MAP_CLASSES[made[1]]
        if made:
            struct, ending = re.fullmatch(r"(\w+?)(OutputReference|List|Map)", made[1]).groups()  # type: ignore[union-attr]
            members = self.classes[f"{struct}OutputReference"]
            whole = ["object", {name: self._type(inner) for name, _, _, _, inner in MEMBER.findall(members)}]
            collection = {"OutputReference": None, "Map": "map", "List": "set" if made[2] == "true" else "list"}[ending]
            return [collection, whole] if collection else whole
        accessor = re.search(r"(Fn\.tolist\()?this\.(\w+)\('", body)
        assert accessor is not None, body[:200]
        kind = ACCESSORS[accessor[2]]
        # A set of strings is read through Fn.tolist.
        return ["set", kind[1]] if accessor[1] and isinstance(kind, list) else kind


def _docs(interface: str) -> dict[str, str]:
    """Documentation by Terraform's name, which stands in the link to the registry."""
    texts = [re.sub(r"^  \* ?", "", text, flags=re.MULTILINE) for text in DOCUMENTED.findall(interface)]
    anchors = [re.search(r"#([\w-]+) \w+#", text) for text in texts]
    return {anchor[1]: text for anchor, text in zip(anchors, texts, strict=True) if anchor}


def _facts(text: str) -> Schema:
    allowed, default = ALLOWED.search(text), DEFAULT.search(text)
    facts: Schema = {"allowed": json.loads(f"[{allowed[1]}]")} if allowed else {}
    return facts | ({"default": json.loads(default[1])} if default else {})
