"""Random inputs, guided by what code they reach, for everything that reads what others wrote.

A target is a module of `targets/` with `one_input(data)`: whatever the bytes are, nothing but the error that a parser
documents may leave the parser, and what the target asserts must hold. Each has a corpus: inputs that are worth
starting from, and every input that was ever found to fail.
"""
