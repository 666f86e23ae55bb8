"""The LLM proposer: prompts are files, replies are read with suspicion, dialogues are kept in the journal."""
