"""Dialogues are killed with SIGKILL at random instants and gone on with: the run is the one that nobody disturbed.

After every kill nothing that was journaled is gone or changed, and no answered call is made again; only a call that was
in flight at the kill may be. At the end the words of every dialogue, the attempts and their tokens are the same.
"""

import random
from collections import Counter
from pathlib import Path

import pytest
from endpoint_runs import SCENARIOS, SteadyServer, asked_as, config_of, faults_of, play, read
from zygote import born

from kernelwright.store.database import FILE
from lanes import sampled

QUICK = ("agent",)
"""The scenario of every run: it has tools."""
KILLS = 10
"""Of each scenario, at least."""
CUT = 2
"""Of those, at least, while a model was asked."""
THINKING_S = 0.02
"""That the server takes for an answer."""
LONGEST_LIFE_S = 0.35
LONGER = 1.03
"""Each life may last longer than the one before it, so that a slow machine gets there too."""
MOST_KILLS = 150
"""Of one run, whose lives are then half a minute long."""
ZYGOTE = Path(__file__).with_name("dialogue_zygote.py")


@pytest.fixture(scope="module")
def zygote():
    with born(ZYGOTE) as made:
        yield made


@pytest.fixture(autouse=True, scope="module")
def no_key():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OPENAI_API_KEY", raising=False)
        yield


def journaled(folder):
    """Attempts, turns and the requests that were answered, in one look; nothing before the folder is a run."""
    if not (folder / FILE).exists():
        return [], [], Counter()
    found = read(folder)
    return found.attempts, found.turns, Counter(asked_as(said.request) for said in found.said)


def waiting(turns):
    """How many dialogues end with a question."""
    last = {(turn.proposal_request, turn.sibling): turn.kind for turn in turns}
    return sum(kind == "prompt" for kind in last.values())


def killed_until_done(zygote, server, name, folder, rng):
    """Kill one run and go on with it until it is complete; the kills that hit, and those of them in mid-dialogue."""
    kills = cut = 0
    lives = []
    attempts, turns, answered = [], [], Counter()
    while True:
        tag = f"{folder.name}x{kills}"
        lives.append((tag, answered, waiting(turns)))
        life_s = rng.uniform(0.02, LONGEST_LIFE_S * LONGER**kills)
        done = zygote.live(name, folder, server.base_url, tag, life_s=life_s)
        earlier, said = attempts, turns
        attempts, turns, answered = journaled(folder)
        assert attempts[: len(earlier)] == earlier, "an attempt was lost or changed"
        assert turns[: len(said)] == said, "a message was lost or changed"
        if done:
            return kills, cut, lives
        kills, cut = kills + 1, cut + bool(waiting(turns))
        assert kills < MOST_KILLS, "the run makes no progress"


def assert_nothing_twice(server, lives, answered):
    """Each life asked what was not answered before it, once; what is asked again was in flight at a kill."""
    seen = Counter()
    for tag, before, in_flight in lives:
        asked = server.asked[tag]
        assert not before & asked, "an answered call was made again"
        assert set(asked.values()) <= {1}, "a call was made twice in one life"
        assert (seen & asked).total() <= in_flight, "a call was made again that was not in flight"
        seen |= asked
    assert seen == answered


@pytest.mark.parametrize("name", sampled(SCENARIOS, lambda name: name in QUICK))
def test_a_dialogue_that_is_killed_anywhere_goes_on_as_if_nothing_had_been(zygote, tmp_path, record_property, name):
    seed, rng = SCENARIOS[name][0], random.Random(name)
    with SteadyServer(seed, faults_of()) as server:
        play(tmp_path / "calm", config_of(name, server.base_url))
        told = sum(s.prompt_tokens + s.completion_tokens for s in server.served)
    calm = read(tmp_path / "calm")
    kills = cut = runs = 0
    while kills < KILLS or cut < CUT:
        with SteadyServer(seed, faults_of(), THINKING_S) as server:
            folder = tmp_path / f"killed{runs}"
            hit, hit_asking, lives = killed_until_done(zygote, server, name, folder, rng)
        kills, cut, runs = kills + hit, cut + hit_asking, runs + 1
        found = read(folder)
        assert found.dialogues == calm.dialogues
        assert found.attempts == calm.attempts
        assert found.results == calm.results
        assert sum(said.reply.usage.total for said in found.said) == sum(a.cost.tokens for a in found.attempts) == told
        # Of a call in flight at a kill all counts that was set aside for it, once its request has ended.
        assert told <= int(folder.with_suffix(".tokens").read_text()) <= told + found.charged
        assert_nothing_twice(server, lives, Counter(asked_as(said.request) for said in found.said))
    record_property("kills", kills)
    record_property("in mid-dialogue", cut)
