"""Where the parts of a configuration are reached from this machine."""

from voicebot.config import Config


def web_url(config: Config) -> str:
    """Of the call process."""
    return f"http://{_reachable(config.web.host)}:{config.web.port}"


def sip_address(config: Config) -> str:
    """Of our Asterisk: sip:HOST:PORT."""
    return f"sip:{_reachable(config.asterisk.sip_host)}:{config.asterisk.sip_port}"


def _reachable(host: str) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"[{host}]" if ":" in host else host
