"""`calls.processes`: what each of several call processes has of its own. They share nothing. Pure."""

from collections.abc import Iterator

from voicebot.config.model import Config


def parts_of(config: Config) -> dict[str, Config]:
    """The call processes by the name of their part: calls, calls-2, calls-3, ..."""
    return {numbered("calls", number): share_of(config, number) for number in numbers(config)}


def numbers(config: Config) -> range:
    """1, 2, ... `calls.processes`."""
    return range(1, config.calls.processes + 1)


def numbered(name: str, number: int) -> str:
    """`name` of the first, `name-2` of the second, and so on: parts, apps and log files alike."""
    return name if number == 1 else f"{name}-{number}"


def share_of(config: Config, number: int) -> Config:
    """The configuration of the `number`th call process, counted from 1, as if it were the only one.

    Its app is ari.app with its number, its RTP ports are its part of the range, its other ports are the first one's
    plus its number less one.
    """
    if config.calls.processes == 1:
        return config
    start, end = rtp_ports(config, number)
    media = {
        "port_start": start,
        "port_end": end,
        "audiosocket_port": config.media.audiosocket_port + number - 1,
    }
    return config.model_copy(
        update={
            "ari": config.ari.model_copy(update={"app": numbered(config.ari.app, number)}),
            "calls": config.calls.model_copy(update={"processes": 1}),
            "media": config.media.model_copy(update=media),
            "web": config.web.model_copy(update={"port": config.web.port + number - 1}),
        }
    )


def rtp_ports(config: Config, number: int) -> tuple[int, int]:
    """First and last of the `number`th share: whole pairs, the same number of them for each."""
    first_even = config.media.port_start + config.media.port_start % 2
    start = first_even + 2 * (number - 1) * calls_of_each(config)
    return start, start + 2 * calls_of_each(config) - 1


def calls_of_each(config: Config) -> int:
    """For so many calls at a time each process has an RTP port."""
    even = config.media.port_end // 2 - (config.media.port_start - 1) // 2
    return max(0, even) // config.calls.processes


def own_ports(config: Config, first: int) -> Iterator[int]:
    """`first` and those of the further processes."""
    return (first + number - 1 for number in numbers(config))
