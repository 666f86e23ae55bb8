"""Named rewards: pure functions of an evaluation and its context."""
