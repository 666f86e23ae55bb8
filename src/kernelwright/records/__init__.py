"""The nouns: frozen records that every layer speaks in. They import nothing of ours and never torch."""
