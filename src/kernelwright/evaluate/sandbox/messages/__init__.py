"""The messages between the grader and its children, as records."""
