"""A target for the fuzzer that fails in each way there is."""

TOKENS = (b"raise", b"hang", b"grow")
MAX_LEN = 16


def one_input(data: bytes) -> None:
    if data == b"raise":
        raise LookupError("the trap was found")
    while data == b"hang":
        pass
    grown = []
    while data == b"grow":
        grown.append(bytearray(b"x" * (1 << 20)))
