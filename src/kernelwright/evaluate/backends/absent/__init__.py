"""A device that is not here."""
