"""What of a graph becomes one kernel, and what stays as it was."""
