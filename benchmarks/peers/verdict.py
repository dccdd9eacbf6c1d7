"""Which peer a benchmark names in its RESULT line. Pure."""

from collections.abc import Mapping


def cheapest(costs: Mapping[str, Mapping[int, float]]) -> tuple[str, float] | None:
    """Name and cost of the peer that is cheapest at the largest number of calls that it carried.

    `costs`: for each peer the cost by the number of calls, only of numbers that it carried. None without any.
    """
    at_most = {name: by_calls[max(by_calls)] for name, by_calls in costs.items() if by_calls}
    if not at_most:
        return None
    name = min(at_most, key=at_most.__getitem__)
    return name, at_most[name]
