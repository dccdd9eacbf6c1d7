"""Random datagrams as fast as asked, from a process of its own: python -m tests.support.flood RATE SECONDS HOST:PORT...

Each has 1 to 1500 random bytes; the targets take turns. Prints how many were sent.
"""

import random
import socket
import sys
import time

_BURST_S = 0.002


def main() -> None:
    rate, seconds = int(sys.argv[1]), float(sys.argv[2])
    targets = [(host, int(port)) for host, _, port in (word.rpartition(":") for word in sys.argv[3:])]
    chance = random.Random(1)
    garbage = [chance.randbytes(chance.randint(1, 1500)) for _ in range(997)]
    sent = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        start = time.monotonic()
        while (now := time.monotonic() - start) < seconds:
            while sent < rate * now:
                sock.sendto(garbage[sent % len(garbage)], targets[sent % len(targets)])
                sent += 1
            time.sleep(_BURST_S)
    print(sent)


if __name__ == "__main__":
    main()
