"""Key filters: what is mixed into a key along the sequence before positions are written."""
