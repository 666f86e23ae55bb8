"""Readers of task files: text in, a TaskSource out. Nothing is executed here."""
