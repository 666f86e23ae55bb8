"""The compile stage: source to binary inside a sandbox."""
