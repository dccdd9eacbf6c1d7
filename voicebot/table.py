"""Plain text tables for the terminal."""

from collections.abc import Sequence


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the last one, which may hold a sentence, is not padded."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    widths[-1] = len(header[-1])
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
