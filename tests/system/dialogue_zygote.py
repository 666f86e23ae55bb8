"""Runs scenarios in forked children, to be killed: imports once, forks for each line on stdin.

A line is `name folder base_url tag`; the child begins the run in the folder or goes on with it, and exits with 0 when
the run is complete; then the tokens on its ledger stand in a file beside the folder.
"""

from dataclasses import replace
from pathlib import Path

from endpoint_runs import BARE, config_of, play
from zygote import serve

from kernelwright.engine.events import Event, Spent


def live(name: str, folder: str, base_url: str, tag: str) -> None:
    """The run, until it is complete."""
    events: list[Event] = []
    result = play(Path(folder), config_of(name, base_url, tag), replace(BARE, listener=events.append))
    assert result.error is None, result.error
    assert result.summary.complete
    spent = [event.spent.tokens for event in events if isinstance(event, Spent)]
    Path(folder).with_suffix(".tokens").write_text(str(spent[-1]))


if __name__ == "__main__":
    serve(live)
