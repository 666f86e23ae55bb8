"""A Python module that builds its own extension."""
