"""Fixtures for every unit test."""

import pkgutil

import pytest


@pytest.fixture
def modules_of():
    """Names of the modules directly inside a package: what a table must agree with."""
    return lambda package: {module.name for module in pkgutil.iter_modules(package.__path__)}
