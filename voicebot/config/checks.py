"""What two keys of a configuration must agree on. Pure: looks nothing up, opens nothing."""

import re
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr
from yarl import URL

from gpu_workers.settings import WorkerSettings
from media_bridge.settings import CODECS_OF, Medium, TransportName, medium_of
from stasis_app.ari.names import MOST_INSTANCE_CHARS
from voicebot.config.languages import language_findings
from voicebot.config.media_addresses import Finding, finding, is_any, is_loopback, unreachable
from voicebot.config.model import Config
from voicebot.config.processes import calls_of_each, numbered, own_ports
from voicebot.config.profile_checks import profile_findings
from voicebot.config.source import KeyPath

_DEVICE = re.compile(r"cpu|auto|cuda(:\d{1,3})?|(GPU|MIG)-[0-9A-Za-z/-]{8,80}")
# what the plan decides: written twice, the two would not know of each other
_PLANNED_FLAGS = {
    "--gpu-memory-utilization": "memory_share",
    "--max-model-len": "context_tokens",
    "--max-num-seqs": "parallel",
    "--kv-cache-dtype": "kv_cache_dtype",
    "--quantization": "quantization",
    "-q": "quantization",
    "--enable-prefix-caching": "prefix_caching",
    "--no-enable-prefix-caching": "prefix_caching",
    "--enable-chunked-prefill": "chunked_prefill",
    "--no-enable-chunked-prefill": "chunked_prefill",
}
# what the worker tells vLLM by itself. The key goes another way: anyone may read a command line
_OWN_FLAGS = {
    "--api-key": "set workers.llm.api_key instead",
    "--host": "set workers.llm.host instead",
    "--port": "set workers.llm.port instead",
    "--model": "set workers.llm.model instead",
    "--served-model-name": "the name is workers.llm.model: take it out",
    "--middleware": "it would stand before the worker's own gate: take it out",
}
_HOST = re.compile(r"[^\s.%<>^`{|}\x00-\x1f\x7f\\]{1,63}(\.[^\s.%<>^`{|}\x00-\x1f\x7f\\]{1,63})*\.?")
_LAST_PORT = 65535
_PORTS_PER_CALL = 4  # RTP and RTCP, of the phone's leg and of ours


def worker_parts(config: Config) -> dict[str, WorkerSettings]:
    return {"stt": config.workers.stt, "llm": config.workers.llm, "tts": config.workers.tts}


def check(config: Config) -> Iterator[Finding]:
    """Each contradiction, with the keys it is about."""
    yield from _ordered(config)
    yield from _port_ranges(config)
    yield from _ports_used_twice(config)
    yield from _app(config)
    yield from _codecs(config)
    bad_urls = list(_urls(config))
    yield from bad_urls
    if not bad_urls:
        yield from _addresses(config)
        yield from _asterisk(config)
    yield from _workers(config)
    yield from profile_findings(config)
    yield from language_findings(config)
    yield from _web(config)
    yield from _extra_args(config)
    yield from _secrets(config)


def _ordered(config: Config) -> Iterator[Finding]:
    pairs: list[tuple[KeyPath, float, KeyPath, float]] = [
        (("media", "port_start"), config.media.port_start, ("media", "port_end"), config.media.port_end),
        (
            ("asterisk", "rtp_start"),
            config.asterisk.rtp_start,
            ("asterisk", "rtp_end"),
            config.asterisk.rtp_end,
        ),
        (
            ("media", "jitter", "min_ms"),
            config.media.jitter.min_ms,
            ("media", "jitter", "max_ms"),
            config.media.jitter.max_ms,
        ),
        (
            ("media", "voice", "stop_probability"),
            config.media.voice.stop_probability,
            ("media", "voice", "start_probability"),
            config.media.voice.start_probability,
        ),
        (
            ("media", "endpoint", "pause_ms"),
            config.media.endpoint.pause_ms,
            ("media", "endpoint", "end_ms"),
            config.media.endpoint.end_ms,
        ),
        (
            ("media", "endpoint", "end_ms"),
            config.media.endpoint.end_ms,
            ("media", "endpoint", "max_utterance_ms"),
            config.media.endpoint.max_utterance_ms,
        ),
    ]
    for low_path, low, high_path, high in pairs:
        if low > high:
            yield finding(
                f"must not be more than {dotted(high_path)}: {low} is more than {high}", low_path, high_path
            )


def _port_ranges(config: Config) -> Iterator[Finding]:
    media, asterisk = config.media, config.asterisk
    ours = (("media", "port_start"), ("media", "port_end"))
    theirs = (("asterisk", "rtp_start"), ("asterisk", "rtp_end"))
    if "rtp" in transports_in_use(config) and media.port_start <= media.port_end:
        yield from _room(config, ours, (media.port_start, media.port_end), calls_of_each(config), 2)
    if not asterisk.start:
        return
    ports = asterisk.rtp_end - asterisk.rtp_start + 1
    if ports >= _PORTS_PER_CALL:
        each = ports // _PORTS_PER_CALL // config.calls.processes
        yield from _room(config, theirs, (asterisk.rtp_start, asterisk.rtp_end), each, _PORTS_PER_CALL)
    if media.port_start <= asterisk.rtp_end and asterisk.rtp_start <= media.port_end:
        yield finding(
            f"{media.port_start}-{media.port_end} overlaps asterisk.rtp_start"
            f" {asterisk.rtp_start}-{asterisk.rtp_end}: move one of them",
            *ours,
            *theirs,
        )
    for (start_path, end_path), low, high in (
        (ours, media.port_start, media.port_end),
        (theirs, asterisk.rtp_start, asterisk.rtp_end),
    ):
        if low <= asterisk.sip_port <= high:
            message = f"lies inside {dotted(start_path)} {low}-{high}: move one of them"
            yield finding(message, ("asterisk", "sip_port"), start_path, end_path)


def _room(
    config: Config, keys: tuple[KeyPath, KeyPath], ports: tuple[int, int], room: int, per_call: int
) -> Iterator[Finding]:
    """A range of ports with too little `room` for the calls of each process."""
    processes, max_calls = config.calls.processes, config.calls.max_calls
    if room >= max_calls:
        return
    needed = per_call * max_calls * processes
    most, process_count = ("calls", "max_calls"), ("calls", "processes")
    if processes == 1:
        message = f"has room for {room} calls, calls.max_calls is {max_calls}: widen it to {needed} ports"
        yield finding(message, *keys, most)
        return
    fit = (ports[1] - ports[0] + 1) // (per_call * max_calls)
    fewer = f"set this to {fit}" if fit else "lower calls.max_calls"
    yield finding(
        f"{processes} processes of {max_calls} calls each (calls.max_calls) need {needed} ports, and"
        f" {dotted(keys[0])} to {dotted(keys[1])} are {ports[0]}-{ports[1]}: widen that, or {fewer}",
        process_count,
        most,
        *keys,
    )


def _app(config: Config) -> Iterator[Finding]:
    app, processes = config.ari.app, config.calls.processes
    last = numbered(app, processes)
    if len(last) > MOST_INSTANCE_CHARS:
        longest = MOST_INSTANCE_CHARS - (len(last) - len(app))
        yield finding(
            f"must be at most {longest} characters, has {len(app)}: the last process (calls.processes {processes})"
            f" is called {last}, and a name has at most {MOST_INSTANCE_CHARS}",
            ("ari", "app"),
            ("calls", "processes"),
        )


def _ports_used_twice(config: Config) -> Iterator[Finding]:
    listeners: list[tuple[KeyPath, str, int, int]] = [
        (("web", "port"), config.web.host, port, number)
        for number, port in enumerate(own_ports(config, config.web.port), 1)
    ]
    if config.asterisk.start:
        listeners.append((("asterisk", "http_port"), "127.0.0.1", config.asterisk.http_port, 1))
    listeners += [
        (("workers", name, "port"), worker.host, worker.port, 1)
        for name, worker in worker_parts(config).items()
        if worker.start
    ]
    if "audiosocket" in transports_in_use(config):
        key, host = ("media", "audiosocket_port"), config.media.bind_host
        ports = own_ports(config, config.media.audiosocket_port)
        listeners += [(key, host, port, number) for number, port in enumerate(ports, 1)]
    for path, _, port, _ in listeners:
        if port > _LAST_PORT:
            message = f"{port} would be that of a further process: the last port there is is {_LAST_PORT}"
            yield finding(message, path, ("calls", "processes"))
            break
    taken = list(_taken_here(config))
    for index, (path, host, port, number) in enumerate(listeners):
        for other_path, other_host, other_port, other_number in [*listeners[:index], *taken]:
            if port == other_port and _overlap(host, other_host):
                whose, other = _whose(number), _whose(other_number)
                yield finding(
                    f"{port}{whose} is also {dotted(other_path)}{other}: give one of them another",
                    *(path, other_path),
                    *([("calls", "processes")] if whose or other else []),
                )


def _taken_here(config: Config) -> Iterator[tuple[KeyPath, str, int, int]]:
    """Ports of this machine that something listens on which is not started from this configuration."""
    urls: list[tuple[KeyPath, str | None]] = []
    if not config.asterisk.start:
        urls.append((("ari", "url"), config.ari.url))
    for name, worker in worker_parts(config).items():
        urls.append((("workers", name, "url"), worker.url))
        urls += [(("workers", name, "more_urls", at), url) for at, url in enumerate(worker.more_urls)]
    for path, url in urls:
        parts = _parts_of(url) if url else None
        if parts is not None and parts.hostname and is_loopback(parts.hostname):
            yield path, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80), 1


def _overlap(host: str, other: str) -> bool:
    return host == other or is_any(host) or is_any(other) or (is_loopback(host) and is_loopback(other))


def _whose(number: int) -> str:
    return f" of process {number} (calls.processes)" if number > 1 else ""


def transports_in_use(config: Config) -> set[TransportName]:
    """Those that some profile's calls go over."""
    return {medium_of(config.media, profile.media).transport for profile in config.profiles.values()}


def _codecs(config: Config) -> Iterator[Finding]:
    """A codec that its transport does not carry, where it was written."""
    shared = medium_of(config.media)
    if not shared.fits:
        yield finding(_misfit(shared), ("media", "codec"), ("media", "transport"))
    for name, profile in config.profiles.items():
        medium = medium_of(config.media, profile.media)
        if not medium.fits and (shared.fits or medium != shared):
            path = ("profiles", name, "media", "codec")
            yield finding(_misfit(medium), path, ("profiles", name, "media", "transport"))


def _misfit(medium: Medium) -> str:
    fitting = " or ".join(CODECS_OF[medium.transport])
    others = " or ".join(name for name, codecs in CODECS_OF.items() if medium.codec in codecs)
    return (
        f"{medium.codec} does not go over {medium.transport}: write {fitting}, or set transport to {others},"
        " which carries it"
    )


def _urls(config: Config) -> Iterator[Finding]:
    """The address itself is not shown: a password may stand in it."""
    urls: list[tuple[KeyPath, str | None]] = [(("ari", "url"), config.ari.url)]
    urls += [(("workers", name, "url"), worker.url) for name, worker in worker_parts(config).items()]
    urls += [
        (("workers", name, "more_urls", number), url)
        for name, worker in worker_parts(config).items()
        for number, url in enumerate(worker.more_urls)
    ]
    for path, url in urls:
        if url is None:
            continue
        parts = _parts_of(url)
        if parts is None:
            yield finding("is no address: write it like http://10.0.0.5:8088", path)
        elif parts.username is not None or parts.password is not None:
            secret = "ari.username and ari.password" if path[0] == "ari" else f"{dotted(path[:2])}.api_key"
            yield finding(f"must not hold a name or password: write those as {secret}", path)
        elif "?" in url or "#" in url:
            yield finding("must not hold a `?` or `#`: write the server's address only", path)


def _parts_of(url: str) -> SplitResult | None:
    """None for what no request can be sent to."""
    try:
        parts = urlsplit(url)
        # what the requests themselves make of it
        host = URL(url).host or ""
        complete = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # UnicodeError is one
        return None
    return parts if complete and (":" in host or _HOST.fullmatch(host)) else None


def _addresses(config: Config) -> Iterator[Finding]:
    if transports_in_use(config) != {"websocket"}:  # those are opened from here
        yield from unreachable(config.media, config.ari.url)


def _asterisk(config: Config) -> Iterator[Finding]:
    start, url = ("asterisk", "start"), ("ari", "url")
    if not config.asterisk.start:
        if config.ari.password is None:
            message = (
                "is missing: write the one of Asterisk's ari.conf, or ${NAME} to take it from the environment"
            )
            yield finding(message, ("ari", "password"), start)
        return
    expected = f"http://127.0.0.1:{config.asterisk.http_port}"
    if config.ari.url.rstrip("/") != expected:
        message = (
            f"is {config.ari.url}, but voicebot brings its own Asterisk at {expected}: take the line out,"
            " or set asterisk.start to false to use yours"
        )
        yield finding(message, url, start, ("asterisk", "http_port"))
    if config.ari.app != "voicebot":
        message = "must stay voicebot: the dialplan of the Asterisk that voicebot brings gives its calls to that name"
        yield finding(message, ("ari", "app"), start)
    if "default" not in config.profiles:
        yield finding(
            "has no `default`, the profile of extension 1000: name one of them so", ("profiles",), start
        )


def _workers(config: Config) -> Iterator[Finding]:
    for name, worker in worker_parts(config).items():
        if not _DEVICE.fullmatch(worker.device):
            yield finding(
                f"must be cpu, auto, cuda:0, cuda:1, ... or a card's UUID, is `{worker.device}`",
                ("workers", name, "device"),
            )
        host, key, url = ("workers", name, "host"), ("workers", name, "api_key"), ("workers", name, "url")
        if worker.start and worker.url is not None:
            message = (
                f"is the address of a worker that runs elsewhere: set workers.{name}.start to false,"
                " or take the line out"
            )
            yield finding(message, url, ("workers", name, "start"))
        elif not worker.start and worker.url is None:
            message = (
                f"is missing: write where the {name} worker that is not started here runs, like"
                f" {worker.own_url}"
            )
            yield finding(message, url, ("workers", name, "start"))
        elif worker.start and not is_loopback(worker.host) and worker.api_key is None:
            message = (
                f"is missing, and {worker.host} can be reached from the network: set it to ${{NAME}},"
                " a secret from the environment"
            )
            yield finding(message, key, host)
    if config.workers.tts.start and config.workers.tts.model is not None:
        message = (
            "is for a voice server that runs elsewhere (workers.tts.start false): the one here has a voice"
        )
        yield finding(message, ("workers", "tts", "model"), ("workers", "tts", "start"))


def _web(config: Config) -> Iterator[Finding]:
    if not is_loopback(config.web.host) and config.web.token is None:
        yield finding(
            f"is missing, and {config.web.host} can be reached from the network: set it to ${{NAME}},"
            " a secret from the environment that /metrics is asked for with",
            ("web", "token"),
            ("web", "host"),
        )


def _extra_args(config: Config) -> Iterator[Finding]:
    path = ("workers", "llm", "extra_args")
    for argument in config.workers.llm.extra_args:
        flag = argument.partition("=")[0].replace("_", "-")
        if key := _PLANNED_FLAGS.get(flag):
            yield finding(f"has {flag}, which the plan must know of: set workers.llm.{key} instead", path)
        elif mend := _OWN_FLAGS.get(flag):
            yield finding(f"has {flag}, which the worker sets: {mend}", path)


def _secrets(config: Config) -> Iterator[Finding]:
    """A secret read from a file often brings the file's line end along."""
    secrets: dict[KeyPath, SecretStr | None] = {
        ("ari", "password"): config.ari.password,
        ("web", "token"): config.web.token,
    }
    for name, worker in worker_parts(config).items():
        secrets["workers", name, "api_key"] = worker.api_key
    for path, secret in secrets.items():
        if secret is not None and not secret.get_secret_value().isprintable():
            yield finding("has a line end or another control character in it: take it out", path)


def dotted(path: KeyPath) -> str:
    """`('workers', 'llm', 'extra_args', 0)` as `workers.llm.extra_args[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
