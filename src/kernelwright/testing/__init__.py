"""Public fakes, for whoever tests a strategy, a proposer or a model of their own: nothing here compiles or needs a key."""
