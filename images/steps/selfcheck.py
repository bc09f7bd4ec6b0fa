"""Run inside the image of pipeline steps, as its user, on its base: does it hold what it says, and does it work?"""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

CLIENTS = ("aiplatform", "artifactregistry_v1", "bigquery", "devtools.cloudbuild_v1", "storage")
OTHERS = ("apache_beam", "duckdb", "gcsfs", "optuna", "pyarrow.parquet", "regorus")


def main() -> None:
    said = json.loads(Path("/opt/app/image.json").read_bytes())
    assert said["name"] == "steps", said
    assert os.getuid() != 0, "this runs as root"
    assert not os.access("/opt/app", os.W_OK), "/opt/app can be written"
    for name in (*(f"google.cloud.{client}" for client in CLIENTS), *OTHERS):
        importlib.import_module(name)
    subprocess.run([sys.executable, "-m", "overnight", "--help"], check=True, stdout=subprocess.DEVNULL)
    import duckdb

    assert duckdb.sql("SELECT 6 * 7").fetchall() == [(42,)]
    print(f"{said['name']}: the command and {len(CLIENTS)} clients of Google Cloud, user {os.getuid()}: fine")


main()
