"""Models, tools and profiles for one proposal request: journaled, metered, played back."""
