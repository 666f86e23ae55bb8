"""What is known before anything is measured: facts about hardware."""
