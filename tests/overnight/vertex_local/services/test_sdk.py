import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOUR = Path(__file__).with_name("sdk_tour.py")


@pytest.mark.parametrize("transport", ["grpc", "rest"])
def test_the_sdk_works_unchanged(server, transport):
    endpoint = server.tls_address if transport == "grpc" else server.rest_url
    done = subprocess.run(
        [sys.executable, TOUR, endpoint, transport],
        env={**os.environ, "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(server.certificate)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "models": {
            "versions": ["1", "2"],
            "aliases": {"2": ["champion"], "1": ["default"]},
            "champion": ["2", "gs://b/2", "better", "animals"],
            "listed": 1,
            "left": 0,
        },
        "lineage": {
            "inputs": ["gs://b/data"],
            "outputs": ["gs://b/model"],
            "state": "COMPLETE",
            "events": 2,
            "in context": 2,
            "by digest": ["gs://b/data"],
            "accuracy": 0.9,
        },
        "experiments": {
            "params": {"lr": 0.1},
            "metrics": {"accuracy": 0.9},
            "state": "COMPLETE",
            "runs": ["r1"],
            "tensorboard runs": 1,
        },
        "endpoints": {"listed": 1, "left": 0},
    }
