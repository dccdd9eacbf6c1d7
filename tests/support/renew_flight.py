"""`python -m tests.support.renew_flight FILE.flight...`: what was said and decided then becomes what is now.

For a kept flight when a rule was changed on purpose. What the ear and the conversation are told stays as it was.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from stasis_app.flight.ear_lines import EndWait, Said
from stasis_app.flight.lines import ear_line
from tests.support.flights import replayed


def renewed(file: Path) -> str:
    """The lines of the flight, as this version would have written them."""
    again = replayed(file)
    head, flight = again.flight.ear_head, again.flight
    assert head is not None
    told = [line for line in flight.ear if not isinstance(line, Said | EndWait)]
    lines = [(line.sample / head.rate, ear_line(line)) for line in (*told, *again.heard.now)]
    first, *others = file.read_text().splitlines()
    steps = iter(again.steps)
    for said in map(json.loads, others):
        if "event" in said:
            phase, commands = next(steps).now
            said |= {"phase": phase, "commands": [json.loads(command) for command in commands]}
            lines.append((said["t"], json.dumps(said, ensure_ascii=False)))
    end = [line for line in others if "end" in json.loads(line)]
    in_order = [line for _, line in sorted(lines, key=lambda timed: timed[0])]
    return "".join(line + "\n" for line in (first, *in_order, *end))


def main(files: Sequence[str]) -> None:
    for name in files:
        path = Path(name)
        path.write_text(renewed(path))


if __name__ == "__main__":
    main(sys.argv[1:])
