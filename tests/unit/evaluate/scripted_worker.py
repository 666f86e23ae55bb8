"""A worker that answers every job with what the environment variable ANSWERS has for it; started as a script."""

import json
import os
import socket
import sys

from kernelwright.execution import job
from kernelwright.execution.channel import Channel
from kernelwright.execution.desk import Desk


def main() -> None:
    end = socket.socket(fileno=int(sys.argv[1]))
    answers = json.loads(os.environ["ANSWERS"])

    def answer(payload):
        asked = json.loads(payload)
        job.note(json.dumps(sorted(asked)))
        found = answers[asked["do"]]
        if found is None:
            os._exit(1)
        return json.dumps(found).encode()

    Desk(Channel(end), answer).serve()


if __name__ == "__main__":
    main()
