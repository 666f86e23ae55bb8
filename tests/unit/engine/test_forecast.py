"""The forecast: who is asked how often, what that costs, and that estimates add up."""

import pytest

from kernelwright.engine.config import load_config
from kernelwright.engine.gateway.models import AGENT_REPLIES, Estimate, estimate, forecast
from kernelwright.search.table import spelled, spellings, strategy_of
from kernelwright.testing.samples import sample_task

PRICES = '["cheap"]\ninput = 1.0\noutput = 1.0\n["dear"]\ninput = 100.0\noutput = 100.0\n'
EVERY = [spelled(text) for text in spellings() if strategy_of(text).listed]


@pytest.fixture(autouse=True)
def prices(tmp_path, monkeypatch):
    file = tmp_path / "prices.toml"
    file.write_text(PRICES)
    monkeypatch.setenv("KERNELWRIGHT_PRICES", str(file))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def expected(strategy, proposals=10, proposer="llm", predictor=None, **models):
    return estimate(config(strategy, proposals, proposer, predictor, **models), sample_task())


def config(strategy, proposals=10, proposer="llm", predictor=None, **models):
    settings = {
        "proposer": proposer,
        "strategy": strategy if isinstance(strategy, dict) else {"name": strategy},
        "budget": {"proposals": proposals},
        "models": {role: {"name": name} for role, name in (models or {"default": "cheap"}).items()},
        "predictor": predictor,
    }
    return load_config(None, settings)


@pytest.mark.parametrize("strategy", EVERY, ids=lambda s: s.get("workflow", s["name"]))
def test_every_strategy_asks_somebody(strategy):
    assert expected(strategy).calls > 0
    assert expected(strategy, proposals=1).calls > 0


def test_each_role_pays_its_own_models_price():
    alone = expected("direct", 5, coder="cheap").usd
    both = expected("cudaforge", 10, coder="cheap", judge="dear")
    assert both.usd == pytest.approx(10 * alone / 5 + 9 * 100 * alone / 5)
    assert both.calls == 19


def test_a_cheap_judge_does_not_make_the_coder_cheap():
    assert expected("direct", 5, coder="dear", judge="cheap").usd == expected("direct", 5, default="dear").usd


def test_a_strategy_that_needs_fewer_answers_costs_less():
    assert expected({"name": "direct", "n": 5}, 100).calls == 5
    assert expected({"name": "cudaforge", "rounds": 3}, 100).calls == 5
    assert expected("fsr", 12).calls == 12
    assert expected("outside").calls == 0


def test_the_two_agents_of_a_stack_have_prices_of_their_own():
    dear = expected("frontend_midend", 10, frontend="dear", midend="dear").usd
    mixed = expected("frontend_midend", 10, frontend="cheap", midend="dear")
    assert mixed.usd == pytest.approx(dear / 2 * 1.01)


def test_an_agent_is_asked_many_times_for_a_kernel_and_reads_what_it_said():
    one = expected("direct", 1)
    agent = expected({"name": "tritongym", "workflow": "agent"}, 3)
    assert agent.calls == 3 * AGENT_REPLIES
    assert agent.tokens > 2 * agent.calls * one.tokens


def test_a_predictor_that_ranks_has_more_proposals_written():
    assert expected("direct", 5, predictor={"oversample": 3}).calls == 3 * expected("direct", 5).calls


def test_long_prompts_are_priced_call_by_call(tmp_path, monkeypatch):
    file = tmp_path / "long.toml"
    file.write_text('["x"]\ninput = 1.0\noutput = 1.0\nlong_after = 20000\nlong_input = 9.0\nlong_output = 9.0\n')
    monkeypatch.setenv("KERNELWRIGHT_PRICES", str(file))
    assert expected("direct", 5, default="x").usd == pytest.approx(expected("direct", 5, default="x").tokens / 1e6)


def test_an_unknown_price_is_said_with_the_models_name():
    told = expected("cudaforge", coder="cheap", judge="mystery")
    assert told.usd is None
    assert told.words().endswith("tokens, the price of mystery is not known")


def test_a_role_that_is_never_asked_has_no_price_to_know():
    assert expected("direct", coder="cheap", judge="mystery").usd is not None
    assert expected("cudaforge", 1, coder="cheap", judge="mystery").usd is not None


def test_nothing_is_said_of_money_where_no_model_is_asked():
    assert forecast(config("cudaforge", proposer="author"), sample_task()) == ""
    assert expected("cudaforge", proposer="author") == Estimate()
    assert forecast(config("cudaforge"), sample_task()).startswith("models: about 19 calls, ")


def test_estimates_add_up():
    one, other = expected("direct"), expected("cudaforge", default="dear")
    both = sum((one, other), Estimate())
    assert (both.calls, both.tokens) == (one.calls + other.calls, one.tokens + other.tokens)
    assert both.usd == one.usd + other.usd
    unknown = both + expected("direct", default="mystery") + expected("direct", default="riddle")
    assert unknown.usd is None
    assert unknown.unpriced == ("mystery", "riddle")
    assert "the price of mystery, riddle is not known" in unknown.words()
