"""What can be written for a task, and how the next schedule is chosen."""
