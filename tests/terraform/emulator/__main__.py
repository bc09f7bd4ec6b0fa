"""An emulated Google provider for real Terraform: `python -m terraform.emulator SCHEMAS CLOUD [PROVIDER]`.

SCHEMAS and CLOUD are JSON files. With PROVIDER (google or google-beta) Terraform started this process for that one
and waits for a line; without, both are served until the parent ends, and the line printed is TF_REATTACH_PROVIDERS.
"""

import json
import sys
from pathlib import Path

from terraform.emulator import rules
from terraform.emulator.handshake import Process
from terraform.emulator.provider import Provider


def main() -> None:
    """Read the files, serve, wait."""
    schemas, cloud, *only = sys.argv[1:]
    written = rules.load()
    providers = {
        name: Provider(document, written, Path(cloud))
        for name, document in json.loads(Path(schemas).read_text())["providers"].items()
        if name in (only or [name])
    }
    process = Process()
    if only:
        print(process.serve_cold(providers[only[0]]), flush=True)
    else:
        served = {f"hashicorp/{name}": process.serve_warm(each, name) for name, each in providers.items()}
        print(json.dumps(served), flush=True)
    process.wait()


if __name__ == "__main__":
    main()
