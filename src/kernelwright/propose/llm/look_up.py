"""The look-up before a prompt: calls the tool `search`, as an agent would, for techniques against the bottleneck.

An answer that is not a list of cards, such as the control arm's, counts as no cards.
"""

from pydantic import ValidationError

from kernelwright.feedback.bottleneck import diagnose
from kernelwright.propose.proposer import Brief
from kernelwright.records.chat import ToolCall
from kernelwright.records.evaluation import Measured
from kernelwright.records.names import LanguageName
from kernelwright.records.profile import Profile
from kernelwright.records.tools import QUERY_CHARACTERS, FoundCard, SearchArguments, SearchResult

CARDS = 1
"""A prompt holds one example, as GEAK's retrieval gives it."""


async def look_up(brief: Brief, sibling: int, language: LanguageName, profile: Profile | None) -> tuple[FoundCard, ...]:
    """Cards for the first parent's bottleneck, its language and the task's operations."""
    found = brief.parents[0].evaluation
    limit = diagnose(profile, found if isinstance(found, Measured) else None).bottleneck
    operations = dict.fromkeys(node.op.removeprefix("aten.").partition(".")[0] for node in brief.task.graph.nodes)
    query = " ".join((limit, language, *operations))[:QUERY_CHARACTERS]
    asked = SearchArguments(query=query, bottleneck=limit, limit=CARDS)
    call = ToolCall(id=f"search-{sibling}", name="search", arguments=asked.model_dump_json())
    answer = await brief.desk.use(brief.expansion.role, call, sibling)
    try:
        return SearchResult.model_validate_json(answer).cards
    except ValidationError:
        return ()
