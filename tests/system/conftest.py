"""A Ray cluster for the tests that need one."""

import importlib.util
import secrets

import pytest
from ray_cluster import Nodes

from kernelwright.execution import cluster

NO_RAY = "needs ray: pip install 'kernelwright[ray]'"


@pytest.fixture(scope="session")
def ray_here(tmp_path_factory):
    """Skips where Ray is not installed; what it finds otherwise belongs to these tests alone."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip(NO_RAY)
    token = tmp_path_factory.mktemp("ray") / "token"
    token.write_text(secrets.token_hex(16))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster.QUIET.items():
            patch.setenv(name, value)
        patch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
        patch.delenv("RAY_ADDRESS", raising=False)
        yield


@pytest.fixture(scope="session")
def nodes(ray_here):
    """A head and two nodes on this machine, which end with the tests."""
    made = Nodes()
    yield made
    made.close()
