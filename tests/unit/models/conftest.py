import pytest
from chat_endpoint import Waits, serve, stop

from kernelwright.models.config import ModelConfig
from kernelwright.models.openai_compatible import open_model


@pytest.fixture
def server():
    made = serve()
    yield made
    stop(made)


@pytest.fixture
def other_server():
    made = serve()
    yield made
    stop(made)


@pytest.fixture
def waits():
    return Waits()


@pytest.fixture
def opened(server, waits, monkeypatch):
    """Opens a model at the server, with any of the configuration's fields."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("KERNELWRIGHT_PRICES", raising=False)

    def made(**fields):
        config = ModelConfig(**{"name": "m", "base_url": f"{server.url}/v1", "timeout_s": 10.0, **fields})
        return open_model(config, waits.retries)

    return made
