"""What a secret looks like: tables of public facts, and the pure functions that read them. Used by `redaction` only."""
