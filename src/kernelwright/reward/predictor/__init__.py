"""The learned reward model: features of a candidate, experience of runs, and the forests that learn from it."""
