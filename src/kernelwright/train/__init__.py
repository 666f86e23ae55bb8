"""Training: data, environment and recipes that make a kernel-writing model better, from what the referee measures.

Importing this package, `environment` or `data` loads no torch; `engine` does, and is imported when a recipe runs.
"""
