"""A session ends once, however many ask for it: its descriptors may be somebody else's by the second time."""

from types import SimpleNamespace

from kernelwright.evaluate.session.session import Session


def test_a_session_frees_its_memory_once():
    freed = []
    session = object.__new__(Session)
    session.closed, session.closes = False, lambda: None
    session.reference = SimpleNamespace(close=lambda: freed.append("reference"))
    session.memory = SimpleNamespace(close=lambda: freed.append("memory"))
    session.close()
    session.close()
    assert freed == ["reference", "memory"]
