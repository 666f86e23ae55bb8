"""A pass in parts, one for each GPU of a host, each with a file of its own: `--part K/N`."""

import argparse
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def may_be_in_parts(parser: argparse.ArgumentParser) -> None:
    """Let a pass be asked for a part of its work."""
    parser.add_argument("--part", default="1/1", help="K/N: the K-th of N parts, one for each GPU of a host")


def of_part(items: Sequence[T], part: str) -> Sequence[T]:
    """Those of the K-th of N parts: every N-th, so that each part has a bit of everything."""
    number, parts = (int(n) for n in part.split("/"))
    return items[number - 1 :: parts]
