"""Run inside the image for GPUs, after trainer.selfcheck: can Reduction Server's plugin, if it is there, be loaded?"""

import ctypes
from pathlib import Path

FOLDER = Path("/opt/reduction-server/plugins")
PLUGIN = "libnccl-net.so"
DRIVERS = ("libcuda.so", "libnvidia-ml.so")
"""Of the driver, which is on machines with GPUs only."""


def main() -> None:
    if not FOLDER.exists():
        print("plugin: built without Reduction Server")
        return
    try:
        ctypes.CDLL(PLUGIN)  # by its bare name, as NCCL does
    except OSError as error:
        if not any(name in str(error) for name in DRIVERS):
            raise
    print(f"plugin: {PLUGIN} of Reduction Server, in {FOLDER.resolve()}")


main()
