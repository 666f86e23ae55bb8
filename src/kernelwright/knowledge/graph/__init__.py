"""The reasoning graph: its file, how trajectories are merged into it, and what can be said of it."""
