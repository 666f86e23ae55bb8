"""What is claimed on paper, and whether it still holds."""
