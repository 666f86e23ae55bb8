"""A chat server that writes with the built-in author and errs by a seed. What it shows is never a model's result."""

from mock_llm.answer import MODEL
from mock_llm.faults import At, Faults
from mock_llm.server import MockLLMServer, Served

__all__ = ["MODEL", "At", "Faults", "MockLLMServer", "Served"]
