"""Definitions in JSON: their schema, and how one becomes the text of a task."""
