"""Who may hold how many workers: by weight, no more than is wanted, the odd ones in turn."""

import itertools

import pytest

from kernelwright.execution.board import GONE_S, TURN_S, WANTED_S, Board, Report, fill, weights_of

ROOM = 10
STEP_S = 10.0


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def board(clock):
    return Board(clock, "rich=3")


def says(board, name, wanted=100, held=0, user=None, gpu=True, room=ROOM):
    held = held if isinstance(held, dict) else {"node": held}
    return board.report(Report(name, user or name, "here", "optimize", gpu, room, held, {}, {}, wanted)._asdict())


def settle(board, **wanted):
    """What each may hold once all have said so."""
    for name, count in wanted.items():
        says(board, name, count)
    return {name: says(board, name, count)["most"] for name, count in wanted.items()}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"a": 100}, {"a": 10}),
        ({"a": 100, "b": 100}, {"a": 5, "b": 5}),
        ({"a": 100, "b": 2}, {"a": 8, "b": 2}),
        ({"a": 3, "b": 3}, {"a": 7, "b": 7}),  # four are nobody's need: whoever has them keeps them
        ({"rich": 100, "b": 100}, {"rich": 8, "b": 2}),  # 7.5 and 2.5
        ({"rich": 2, "b": 100}, {"rich": 2, "b": 8}),
        ({"a": 0, "b": 100}, {"a": 0, "b": 10}),
    ],
)
def test_workers_are_shared_by_weight_and_by_what_is_wanted(board, wanted, expected):
    assert settle(board, **wanted) == expected


def test_a_user_with_many_commands_gets_no_more_than_one_with_one(board):
    says(board, "lone")
    for n in range(5):
        says(board, f"many {n}", user="many")
    assert says(board, "lone")["most"] == ROOM // 2
    assert [says(board, f"many {n}", user="many")["most"] for n in range(5)] == [1] * 5


def test_a_command_hears_what_others_hold_and_of_its_own_kind_alone(board):
    says(board, "a", held={"x": 2, "y": 1})
    says(board, "b", held={"y": 3})
    says(board, "on the processors", held={"x": 1}, gpu=False)
    assert says(board, "c")["others"] == {"x": 2, "y": 4}
    assert says(board, "on the processors", gpu=False)["others"] == {}


def test_who_thinks_keeps_its_share_for_a_while(board, clock):
    settle(board, a=100, b=4)
    clock.now += WANTED_S - 1
    assert settle(board, a=100, b=0) == {"a": 6, "b": 4}
    clock.now += 2
    assert settle(board, a=100, b=0) == {"a": 10, "b": 0}


@pytest.mark.parametrize("leaves", [True, False])
def test_what_a_command_had_is_free_once_it_ended_or_is_silent(board, clock, leaves):
    settle(board, a=100, b=100)
    if leaves:
        board.leave("b")
    else:
        clock.now += GONE_S + 1
    assert says(board, "a")["most"] == ROOM


@pytest.mark.parametrize("commands", [2, 3, 7])
def test_commands_that_are_more_than_workers_have_them_in_turn(board, clock, commands):
    had, latest = dict.fromkeys(range(commands), 0), {}
    for _ in range(400):
        clock.now += STEP_S
        for name in had:
            most = says(board, name, held=latest.get(name, 0), room=1)["most"]
            latest[name] = most
            had[name] += STEP_S * most
        assert sum(says(board, name, held=latest[name], room=1)["most"] for name in had) == 1
    assert max(had.values()) <= min(had.values()) + 3 * TURN_S
    assert min(had.values()) > 0


def test_a_turn_lasts(board, clock):
    holders = []
    for _ in range(1000):
        clock.now += 1
        for name in "ab":
            if says(board, name, held=int(holders[-1:] == [name]), room=1)["most"]:
                holder = name
        holders.append(holder)
    turns = [len(list(group)) for _, group in itertools.groupby(holders)]
    assert len(turns) > 4
    assert min(turns[1:-1]) >= TURN_S


def test_a_line_has_rate_and_work_of_the_last_minutes(board, clock):
    report = Report("a", "anna", "here:1", "bench", True, ROOM, {"x": 2}, {"x": 1}, {"softmax": 7}, 9)
    for n in range(11):
        clock.now = 6.0 * n
        board.report({**report._replace(answered=5 * n)._asdict(), "of a later version": 1})
    (line,) = board.lines()
    assert line["verdicts_a_minute"] == pytest.approx(50)
    assert line["busy"] == 1
    assert line["report"]["waiting"] == {"softmax": 7}


def test_parts_that_are_not_wanted_go_to_the_others_by_weight():
    assert fill(12, {"a": 1, "b": 100, "c": 100}, {"a": 5, "b": 1, "c": 2}) == pytest.approx(
        {"a": 1, "b": 11 / 3, "c": 22 / 3}
    )


def test_weights_that_cannot_be_read_are_left_out():
    assert weights_of("a=3, b=0.5,c=x,d,e=-1,f=0,=2") == {"a": 3.0, "b": 0.5, "": 2.0}
