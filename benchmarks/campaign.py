"""The runner of every measurement here: what is left of it, until when, and the file that holds what was found.

A program lists its items, measures one after another and puts a row of each into a `Campaign`. FILE is whole after every
row, and the same command goes on where the last one ended: what FILE has from such a device is not measured again.
`--processes N` measures in so many processes of this machine (`side_by_side.py`). `--part K/N` takes every N-th item, so that
each GPU or host fills a file of its own; `--join PART…` puts those together. FILE holds figures. What is long (kernel texts,
samples, every try) goes line by line to FILE.raw.jsonl, which is compressed with xz before it is committed, if it is.
"""

import argparse
import asyncio
import json
import math
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from provenance import alike, provenance, provenance_of
from side_by_side import side_by_side

from kernelwright.engine.target import resolve_target
from kernelwright.evaluate.referee import Referee
from kernelwright.records.policy import Policy
from kernelwright.records.task import Target
from kernelwright.store.files import write_whole

Row = dict[str, Any]
Item = TypeVar("Item")


def command(
    doc: str | None, target: str = "cpu", seconds: float = 540.0, add_help: bool = True
) -> argparse.ArgumentParser:
    """A command line with the options that every measurement has; without help it is one to inherit from."""
    raw = argparse.RawDescriptionHelpFormatter
    found = argparse.ArgumentParser(description=doc, formatter_class=raw, add_help=add_help)
    found.add_argument("--out", type=Path, required=True, help="JSON with a row for each item; it is continued")
    found.add_argument("--target", default=target)
    found.add_argument("--only", nargs="*", default=[], metavar="WORD", help="items with one of these in their names")
    found.add_argument("--seconds", type=float, default=seconds, help="begin nothing later; the same command goes on")
    found.add_argument("--anew", action="store_true", help="measure again what the file has of what is asked for")
    found.add_argument(
        "--processes", type=int, default=1, help="processes side by side, which take turns on the device"
    )
    found.add_argument("--part", default="1/1", help="K/N: the K-th of N parts, one for each GPU or process of a host")
    found.add_argument("--join", type=Path, nargs="+", default=[], help="join the files of parts; measure nothing")
    found.add_argument("--json", action="store_true", help="print the file's contents instead of the table")
    return found


def named_by(only: Sequence[str], name: str) -> bool:
    """Whether the words of `--only` name it; without any, everything is."""
    words = [word for text in only for word in text.split(",")]
    return not words or any(word in name for word in words)


def of_part(items: Sequence[Item], part: str) -> Sequence[Item]:
    """Every N-th item, from the K-th on, so that each part has some of everything."""
    number, parts = (int(n) for n in part.split("/"))
    return items[number - 1 :: parts]


class Campaign:
    """The rows of one file, by key.

    Args:
        asked: the command line of `command`.
        key: the fields that tell one row from another.
        same: fields of the head that all rows of a file share, beside the device and the compilers.
        summary: what follows from the rows; it stands in the file between head and rows.
        raw: fields of a row that go to the raw file.
    """

    def __init__(
        self,
        asked: argparse.Namespace,
        key: Sequence[str] = ("task",),
        same: Sequence[str] = (),
        summary: Callable[[list[Row]], Row] = lambda rows: {},
        raw: Sequence[str] = (),
    ) -> None:
        self.asked, self.out = asked, Path(asked.out)
        self.until = time.monotonic() + getattr(asked, "seconds", math.inf)
        self._key, self._same, self.summary, self._raw = tuple(key), tuple(same), summary, tuple(raw)
        self.head: Row = {}
        self.by_key: dict[Hashable, Row] = {}

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order in which their items were first measured."""
        return list(self.by_key.values())

    def begin(self, head: Mapping[str, Any]) -> None:
        """Say what is measured, on what and by which commit, and take over what the file has.

        Raises:
            SystemExit: the file's rows are of another device, compiler or option, and would be lost.
        """
        self.head = dict(head)
        self.take_known()

    def take_known(self) -> None:
        """Take over what the file has and nobody wants anew."""
        self.take([self.out])
        if self.asked.anew:
            self.by_key = {key: row for key, row in self.by_key.items() if not self.named(_name(key))}

    async def begin_on_device(self, **head: Any) -> None:  # noqa: ANN401
        """Begin, headed by the device that was asked for."""
        found = await asyncio.to_thread(provenance_of, self.asked.target)
        self.begin({**found, **head})

    def run(self, measure: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Measure what is left, or join the parts that were asked for."""
        if self.asked.join:
            self.take(self.asked.join)
            if self.out not in self.asked.join:
                _raw_file(self.out).unlink(missing_ok=True)
            for part in self.asked.join:
                if (raw := _raw_file(part)).exists():
                    self._append_raw(raw.read_text())
            self.write()
        elif self.asked.processes > 1:
            side_by_side(self)
        else:
            asyncio.run(measure())

    @asynccontextmanager
    async def referee(self, policy: Policy | None = None, **head: Any) -> AsyncIterator[tuple[Referee, Target]]:  # noqa: ANN401
        """A referee on the target that was asked for; its device heads the file."""
        referee, target = Referee(policy), resolve_target(self.asked.target)
        try:
            self.begin({**provenance(await referee.environment(target)), "target": target.name, **head})
            yield referee, target
        finally:
            await referee.close()

    def named(self, name: str) -> bool:
        """Whether it was asked for."""
        return named_by(self.asked.only, name)

    def chosen(self, items: Iterable[Item], name: Callable[[Item], str] = str) -> list[Item]:
        """Those that `--only` names, of this part."""
        return list(of_part([item for item in items if self.named(name(item))], self.asked.part))

    def left(self, items: Iterable[Item], key: Callable[[Item], Hashable] = lambda item: item) -> Iterator[Item]:
        """Those without a row, until the time is over."""
        for item in items:
            if key(item) not in self.by_key:
                if self.over():
                    sys.stderr.write("the time is over; the same command goes on\n")
                    return
                yield item

    def over(self) -> bool:
        """Whether nothing further may begin."""
        return time.monotonic() > self.until

    def put(self, row: Row) -> None:
        """Keep a row in place of one with the same key, write the file, and say what was found."""
        raw = {name: row[name] for name in self._raw if name in row}
        kept = {name: value for name, value in row.items() if name not in raw}
        if raw:
            self._append_raw(json.dumps({**{name: row[name] for name in self._key}, **raw}) + "\n")
        self.by_key[self.key_of(row)] = kept
        self.write()
        sys.stderr.write(f"{json.dumps(kept)[:400]}\n")

    def key_of(self, row: Row) -> Hashable:
        """A row's key: its only field, or all of them."""
        return row[self._key[0]] if len(self._key) == 1 else tuple(row[name] for name in self._key)

    def document(self) -> Row:
        """All that the file says."""
        return {**self.head, **self.summary(self.rows), "rows": self.rows}

    def write(self) -> None:
        """Write the file: all of it or nothing, a line for each row."""
        self.out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.out, self.text())

    def text(self) -> str:
        """The document, a line for each row."""
        return written(self.document())

    def show(self, table: Callable[[list[Row]], str]) -> None:
        """Print the table, or with `--json` the document."""
        sys.stdout.write(json.dumps(self.document()) + "\n" if self.asked.json else table(self.rows).rstrip() + "\n")

    def take(self, files: Sequence[Path]) -> None:
        """The rows of several files; of two with one key the later file's. A row keeps the commit that measured it."""
        for document in (json.loads(file.read_text()) for file in files if file.exists()):
            self.head = self.head or {name: value for name, value in document.items() if name != "rows"}
            if not self._alike(document):
                raise SystemExit(
                    f"{', '.join(map(str, files))}: of another device, torch, triton {' or '.join(['', *self._same])}: "
                    "name another file with --out"
                )
            older = {"commit": document["commit"]} if document.get("commit") != self.head.get("commit") else {}
            self.by_key |= {self.key_of(row): {**older, **row} for row in document["rows"]}

    def _alike(self, document: Row) -> bool:
        machine = "versions" not in self.head or alike(document, self.head)
        return machine and all(document.get(name) == self.head.get(name) for name in self._same)

    def _append_raw(self, text: str) -> None:
        with _raw_file(self.out).open("a") as file:
            file.write(text)


def _name(key: Hashable) -> str:
    return "/".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _raw_file(out: Path) -> Path:
    return out.with_suffix(".raw.jsonl")


def written(document: Mapping[str, Any]) -> str:
    """A document as text, a line for each of its rows."""
    fields = [f" {json.dumps(name)}: {_indented(value)}" for name, value in document.items() if name != "rows"]
    rows = ",\n".join(json.dumps(row) for row in document["rows"])
    fields.append(f' "rows": [\n{rows}\n ]')
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _indented(value: Any) -> str:  # noqa: ANN401
    return json.dumps(value, indent=1).replace("\n", "\n ")
