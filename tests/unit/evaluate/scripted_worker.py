"""A worker that answers every job with what the environment variable ANSWERS has for it; started as a script.

It knows no task, and asks for the body of each.
"""

import json
import os
import socket
import sys

from kernelwright.execution import job
from kernelwright.execution.channel import Channel
from kernelwright.execution.job import JobServer

UNKNOWN = {"kind": "unknown_task"}


def main() -> None:
    end = socket.socket(fileno=int(sys.argv[1]))
    answers = json.loads(os.environ["ANSWERS"])

    def answer(payload):
        asked = json.loads(payload)
        job.note(json.dumps([*sorted(asked["job"]), asked["body"] is not None]))
        found = answers[asked["job"]["kind"]]
        if found is None:
            os._exit(1)
        return json.dumps(UNKNOWN if "task" in asked["job"] and not asked["body"] else found).encode()

    JobServer(Channel(end), answer).serve()


if __name__ == "__main__":
    main()
