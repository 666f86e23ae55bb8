"""The children that run the task's own code: the reference, its variants, and what is learned about the task."""
