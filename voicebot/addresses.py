"""Where the parts of a configuration are reached from this machine."""

from gpu_workers.addresses import reachable
from voicebot.config import Config


def web_url(config: Config) -> str:
    """Of the call process."""
    return f"http://{reachable(config.web.host)}:{config.web.port}"


def sip_address(config: Config) -> str:
    """Of our Asterisk: sip:HOST:PORT."""
    return f"sip:{reachable(config.asterisk.sip_host)}:{config.asterisk.sip_port}"
