"""One module for each target: `one_input`, `TOKENS` that its inputs are made of, and `MAX_LEN` of one in bytes."""
