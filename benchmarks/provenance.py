"""Where a measurement comes from: device, versions, commit, date. Every file under benchmarks/results carries it."""

import os
import subprocess
from datetime import UTC, datetime

from pydantic import JsonValue

from kernelwright.records.run import Environment


def provenance(environment: Environment) -> dict[str, JsonValue]:
    """The fields that say what was measured, when and on what.

    The commit comes from KERNELWRIGHT_COMMIT where the tree was copied without its history.
    """
    described = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    commit = os.environ.get("KERNELWRIGHT_COMMIT") or described.stdout.strip() or "unknown"
    device = environment.device
    return {
        "device": device.name if device.kind == "cuda" else f"{device.name}, {device.cores} cores",
        "versions": dict(environment.versions),
        "commit": commit,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
