"""The run's journal: one folder, one SQLite file, resumable at any instant."""
