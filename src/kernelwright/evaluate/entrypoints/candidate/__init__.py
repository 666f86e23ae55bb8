"""The children that run a candidate, and the defences that work inside their processes."""
