"""This machine's cores."""
