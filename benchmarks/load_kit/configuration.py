"""The voicebot.yaml of a load test: somebody's own, or none, and over it what the test needs.

What a call of the test would leave behind or set going elsewhere is taken out: nothing is recorded into the folder of
real calls, and no tool puts anybody through or asks a server of the admin's.
"""

import random
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tests.support.rig import free_ports
from voicebot.config.lakeside import LAKESIDE_BIKES

HOST = "127.0.0.1"
_PORTS_A_KIND = 2000
_KINDS = 4
_GREETING = "Load test, good day."


@dataclass(frozen=True, slots=True)
class Ports:
    """UDP ports below those the kernel gives away; each range is for one kind of socket."""

    asterisk: range
    bot: range
    tap: range
    sipp: range

    @classmethod
    def drawn(cls) -> "Ports":
        first = random.randrange(10_000, 32_000 - _KINDS * _PORTS_A_KIND, 2)
        starts = range(first, first + _KINDS * _PORTS_A_KIND, _PORTS_A_KIND)
        return cls(*(range(start, start + _PORTS_A_KIND) for start in starts))


def configuration(
    ports: Ports, max_calls: int, own: Mapping[str, Any], fakes: Mapping[str, str] | None
) -> str:
    """voicebot.yaml: `own` as somebody wrote it, and over it what a load test needs. `fakes`: their addresses.

    The bot has an Asterisk of its own and one call process, on ports that nobody uses. No filler and no question to a
    silent caller: each sound after a question shall be its answer. Of the profiles only the one that is called is
    there, without its tools.
    """
    http_port, web_port, audio_port, *worker_ports = free_ports(6, socket.SOCK_STREAM)
    quiet = {"no_input_s": 120.0, "phrases": {"filler": ""}}
    default = (own.get("profiles") or {}).get("default") or LAKESIDE_BIKES.model_dump(mode="json")
    default = {key: value for key, value in default.items() if key != "tools"}
    workers = own.get("workers") or {}
    here: dict[str, dict[str, object]] = {
        name: {"port": port}
        for name, port in zip(("stt", "llm", "tts"), worker_ports, strict=True)
        if (workers.get(name) or {}).get("start", True)
    }
    if fakes is not None:
        default = {"prompt": "You are a load test.", "greeting": _GREETING}
        here = {name: {"start": False, "url": url} for name, url in fakes.items()}
    needed = {
        "asterisk": {
            "start": True,
            "sip_host": HOST,
            "sip_port": free_ports(1)[0],
            "http_port": http_port,
            "rtp_start": ports.asterisk[0],
            "rtp_end": ports.asterisk[-1],
        },
        "ari": {
            "url": f"http://{HOST}:{http_port}",
            "username": "voicebot",
            "password": secrets.token_urlsafe(24),
            "app": "voicebot",
        },
        "media": {
            "bind_host": HOST,
            "advertise_host": None,
            "port_start": ports.bot[0],
            "port_end": ports.bot[-2],
            "port_quarantine_s": 1.0,
            "audiosocket_port": audio_port,
        },
        "workers": here,
        "web": {"host": HOST, "port": web_port, "token": None},
        "calls": {"max_calls": max_calls, "processes": 1, "drain_s": 1.0, "flight_recorder": None},
        "log": {"directory": "var/log/load"},
    }
    return yaml.safe_dump(merged(own, needed) | {"profiles": {"default": merged(default, quiet)}})


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings are merged, everything else of `over` takes the place of what was there."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result
