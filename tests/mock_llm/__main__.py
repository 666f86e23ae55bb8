"""`PYTHONPATH=tests python -m mock_llm --tasks FILE.json`: the server by itself, until it is interrupted.

It writes its address on a line of its own.
"""

import argparse
import signal
import sys
import threading
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from kernelwright.errors import KernelwrightError, UsageError
from kernelwright.records.admission import Admission
from kernelwright.records.task import Task
from mock_llm.answer import LABEL
from mock_llm.faults import Faults
from mock_llm.server import MockLLMServer

TASKS: TypeAdapter[Admission | Task | list[Task]] = TypeAdapter(Admission | Task | list[Task])
BEST: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted or terminated; the status is 2 where it cannot."""
    flags = _parser().parse_args(arguments)
    try:
        best = BEST.validate_json(_read(flags.best)) if flags.best else {}
        faults = Faults.model_validate_json(flags.faults)
        server = MockLLMServer(_tasks(flags.tasks), flags.seed, faults, best, flags.port)
    except (KernelwrightError, ValidationError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        ended.wait()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mock_llm", description=LABEL)
    parser.add_argument(
        "--tasks",
        type=Path,
        action="append",
        required=True,
        help="of `kernelwright admit --json`, or admitted tasks; repeat it",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--faults", default="{}", help='JSON of the faults, such as {"rate": 0.4, "transport_rate": 0.1}'
    )
    parser.add_argument("--best", type=Path, help="JSON: a task's id or name to the JSON of its best schedule or memo")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    return parser


def _tasks(files: list[Path]) -> list[Task]:
    found: list[Task] = []
    for file in files:
        try:
            read = TASKS.validate_json(_read(file))
        except ValidationError:
            raise UsageError(
                f"{file} must hold the JSON of an admitted task, of a list of them, or what `kernelwright admit --json` writes"
            ) from None
        found += _in(read)
    return found


def _in(read: Admission | Task | list[Task]) -> list[Task]:
    if isinstance(read, Admission):
        return [report.task for report in read.tasks if report.task is not None]
    return read if isinstance(read, list) else [read]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({error.strerror})") from None


if __name__ == "__main__":
    sys.exit(main())
