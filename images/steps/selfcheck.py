"""Run inside the image of pipeline steps, as its user, on its base: does it hold what it says, and does it work?"""

import importlib
import io
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
    clients, markers = f"{len(CLIENTS)} clients of Google Cloud", f"restart markers by {restart_markers()}"
    print(f"{said['name']}: the command, {clients}, {markers}, user {os.getuid()}: fine")


def restart_markers() -> str:
    """Rewrite a picture as `shards append` does; what did it."""
    from PIL import Image

    from overnight.shards.rewriter import Rewriter

    picture = io.BytesIO()
    Image.radial_gradient("L").save(picture, "JPEG")
    rewriter = Rewriter()
    answer = rewriter.rewrite(picture.getvalue())
    version = rewriter.libjpeg_version()
    rewriter.close()
    assert answer.status == "ok", answer.status
    assert b"\xff\xdd\x00\x04" in answer.data, "it holds no restart interval"
    assert Image.open(io.BytesIO(answer.data)).tobytes() == Image.open(picture).tobytes()
    return f"libjpeg-turbo {version}"


main()
