"""What each subcommand does. Imports are inside, so that one command does not load what another needs."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from voicebot.terminal import complain, say

if TYPE_CHECKING:
    from voicebot.config import Config


def up(chosen: argparse.Namespace) -> int:
    from voicebot.interrupts import run_until_interrupted
    from voicebot.up import stay_up

    config, text = _loaded(chosen.config)
    status = run_until_interrupted(
        lambda hurry: stay_up(config, text, say, hurry), _say_stopping(config.calls.drain_s)
    )
    say("All stopped.")
    return status


def demo(chosen: argparse.Namespace) -> int:
    from voicebot.demo import demo as run_demo
    from voicebot.interrupts import run_until_interrupted
    from voicebot.output_file import check_output

    config, text = _loaded(chosen.config)
    check_output("--record", chosen.record, makes_folder=True)
    return run_until_interrupted(
        lambda hurry: run_demo(config, text, chosen.record, say, hurry), _say_stopping(config.calls.drain_s)
    )


def run(chosen: argparse.Namespace) -> int:
    from voicebot.call_process import run_call_process, run_call_processes
    from voicebot.config import DEFAULT_FILE, parse, read_text
    from voicebot.output_file import check_output

    text, name = read_text(chosen.config), str(chosen.config or DEFAULT_FILE)
    config = parse(text, name, os.environ, calls_here=True, processes=chosen.processes)
    check_output("--transcript-file", chosen.transcript_file)
    if chosen.number is None and config.calls.processes > 1:
        return run_call_processes(config, text, chosen.transcript_file, complain)
    return run_call_process(config, chosen.transcript_file, chosen.number)


def worker(chosen: argparse.Namespace) -> int:
    from voicebot.config import load
    from voicebot.worker import run_worker

    return run_worker(chosen.kind, load(chosen.config), chosen.plan)


def plan(chosen: argparse.Namespace) -> int:
    from voicebot.config import load
    from voicebot.plan_command import show_devices, show_plan

    if chosen.show_devices:
        return show_devices()
    return show_plan(load(chosen.config), chosen.devices, as_json=chosen.json)


def call(chosen: argparse.Namespace) -> int:
    from voicebot.config import load
    from voicebot.interrupts import run_until_interrupted
    from voicebot.output_file import check_output
    from voicebot.place_call import login, place

    config = load(chosen.config)
    who = login(chosen.user, os.environ)
    check_output("--record", chosen.record, makes_folder=True)
    wavs = chosen.wav or ["price01"]
    return run_until_interrupted(
        lambda _: place(config, chosen.target, wavs, chosen.record, who, _say), lambda: None
    )


def replay(chosen: argparse.Namespace) -> int:
    from voicebot.replay import replay_file

    return replay_file(chosen.file, _say)


def fetch(chosen: argparse.Namespace) -> int:
    from voicebot.config import load
    from voicebot.fetch import fetch_everything

    fetch_everything(load(chosen.config), _say, for_tests=chosen.for_tests, only_missing=chosen.only_missing)
    return 0


def check_config(chosen: argparse.Namespace) -> int:
    from voicebot.config import DEFAULT_FILE, parse, read_text, without_secrets

    text, name = read_text(chosen.config), str(chosen.config or DEFAULT_FILE)
    config = parse(text, name, os.environ, calls_here=True)
    if chosen.show:
        import yaml

        shown = without_secrets(config, text, os.environ)
        print(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True), end="")
    else:
        print(f"{_which(chosen.config)} Nothing is wrong with it.")
    return 0


def version(_: argparse.Namespace) -> int:
    import platform

    from voicebot.version import version as own

    print(f"voicebot {own()}, Python {platform.python_version()}")
    return 0


def _loaded(file: Path | None) -> "tuple[Config, str]":
    """The configuration and the text it was read from; says which it is."""
    from voicebot.config import DEFAULT_FILE, parse, read_text

    text = read_text(file)
    config = parse(text, str(file or DEFAULT_FILE), os.environ, calls_here=True)
    say(_which(file))
    return config, text


def _which(config: Path | None) -> str:
    from voicebot.config import DEFAULT_FILE

    if config is not None or DEFAULT_FILE.exists():
        return f"Configuration: {config or DEFAULT_FILE}."
    return f"Configuration: the defaults (to change some, copy voicebot.example.yaml to {DEFAULT_FILE})."


def _say(line: str) -> None:
    """For commands whose output is their point: without a reader they end."""
    print(line, flush=True)


def _say_stopping(drain_s: float) -> Callable[[], None]:
    return lambda: complain(
        f"\nStopping. Running calls may go on for up to {drain_s:g} s; Ctrl-C again ends them now."
    )
