"""A Ray cluster and a browser for the tests that need them."""

import importlib.util
import secrets
import shutil

import pytest
from bad_input import QUICK, Asked
from ray_cluster import Nodes

from kernelwright.execution import cluster

BROWSER = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
"""Arguments of a browser that asks nothing of the machine and of the network."""
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


@pytest.fixture(scope="module")
def nodes(ray_here):
    """A head and two nodes on this machine. Of one module: they are never idle, and later tests take times."""
    made = Nodes()
    yield made
    made.close()


@pytest.fixture(scope="session")
def asked(warm_referee):
    """The warm referee, asked from synchronous code under the policy of the tests of bad input."""
    made = Asked(referee=warm_referee.under(QUICK))
    yield made
    made.close()


@pytest.fixture(scope="module")
def browser():
    """Chromium; that it is missing is a failure. Of one module: the driver's loop would be in the way of other tests'."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  the other tests need none

    path = shutil.which("chromium")
    assert path, "Chromium is missing: apt-get install chromium"
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, args=BROWSER)
        yield found
        found.close()
