"""Named rewards: pure functions of an attempt and its context."""
