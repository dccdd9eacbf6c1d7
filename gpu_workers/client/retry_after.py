"""`Retry-After` (RFC 9110, 10.2.3). Pure; the date form, which needs a clock, counts as none."""


def retry_after_s(header: str | None) -> float | None:
    """Seconds, or None where the header is missing or says none. OpenAI's own servers also send fractions."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
