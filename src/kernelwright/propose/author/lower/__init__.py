"""From expressions to a program: the cut into kernels, their schedules, and the files."""
