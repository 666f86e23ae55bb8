"""What all parts of the author speak of: expressions, axes, positions, programs, and the space of schedules."""
