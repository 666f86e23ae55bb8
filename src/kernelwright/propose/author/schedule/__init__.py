"""How a plan is run: one frozen record for each language, and the space that its fields span."""
