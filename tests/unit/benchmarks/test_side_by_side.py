"""Several processes of one measurement: each takes its part, none what is known, and their rows meet in one file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "benchmarks"
PROGRAM = """
import os, sys
sys.path.insert(0, {bench!r})
from campaign import Campaign, command
from kernelwright.execution.turns import SHARED

async def measure(campaign):
    campaign.begin({{"device": "H200", "versions": {{"torch": "2", "triton": "3"}}, "commit": "b"}})
    for item in campaign.left(campaign.chosen(list("abcdefg"))):
        campaign.put({{"task": item, "part": campaign.asked.part, "lock": os.environ[SHARED]}})

if __name__ == "__main__":
    campaign = Campaign(command("words").parse_args())
    campaign.run(lambda: measure(campaign))
    campaign.show(lambda rows: f"{{len(rows)}} rows")
"""


def called(folder: Path, *options: str) -> tuple[str, dict[str, dict[str, str]]]:
    program = folder / "program.py"
    program.write_text(PROGRAM.format(bench=str(BENCH)))
    out = folder / "out.json"
    command = [sys.executable, str(program), "--out", str(out), "--processes", "3", *options]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return said, {row["task"]: row for row in json.loads(out.read_text())["rows"]}


def test_each_takes_its_part_and_all_share_one_lock(tmp_path):
    said, rows = called(tmp_path)
    assert said == "7 rows\n", "the processes' own tables are not shown"
    assert {row["part"] for row in rows.values()} == {"1/3", "2/3", "3/3"}
    assert len({row["lock"] for row in rows.values()}) == 1
    assert all(rows[a]["part"] == rows[b]["part"] for a, b in ("ad", "be", "dg"))


@pytest.mark.matrix
def test_what_is_known_is_not_measured_again_and_a_part_of_a_host_is_parted_further(tmp_path):
    _, first = called(tmp_path, "--only", "b", "e")
    _, rows = called(tmp_path, "--part", "2/2")
    assert sorted(rows) == ["b", "d", "e", "f"]
    assert [rows[task]["lock"] == first[task]["lock"] for task in "be"] == [True, True]
    assert {rows[task]["part"] for task in "df"} <= {"2/6", "4/6", "6/6"}
    _, anew = called(tmp_path, "--only", "b", "--anew")
    assert anew["b"]["lock"] != rows["b"]["lock"]
    assert anew["e"]["lock"] == rows["e"]["lock"]
