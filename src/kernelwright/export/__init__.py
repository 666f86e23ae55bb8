"""A finished kernel as a file that a person can use: a drop-in `ModelNew`."""
