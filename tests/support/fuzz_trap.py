"""A target for the fuzzer that fails in each way there is."""

import time

TOKENS = (b"raise", b"hang", b"grow")
MAX_LEN = 16


def one_input(data: bytes) -> None:
    if data == b"raise":
        raise LookupError("the trap was found")
    while data == b"hang":
        pass
    grown = []
    while data == b"grow":
        # the fuzzer looks once a second: not more than the machine has until then
        grown.append(bytearray(b"x" * (1 << 20)))
        time.sleep(0.005)
