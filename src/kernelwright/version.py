"""The version, where everything may read it without importing the door."""

__version__ = "0.1.0"
