"""A worker that answers every job with what the environment variable ANSWERS has for it; started as a script."""

import json
import os
import socket
import sys

from kernelwright.execution import channel


def main() -> None:
    end = socket.socket(fileno=int(sys.argv[1]))
    answers = json.loads(os.environ["ANSWERS"])
    while (frame := channel.read(end)) is not None:
        job = json.loads(frame[1])
        channel.write(end, b"N", json.dumps(sorted(job)).encode())
        answer = answers[job["do"]]
        if answer is None:
            os._exit(1)
        channel.write(end, b"R", json.dumps(answer).encode())


if __name__ == "__main__":
    main()
