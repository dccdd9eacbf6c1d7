"""What can be written after `voicebot`."""

import argparse
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING

from voicebot.cli import commands

if TYPE_CHECKING:
    Subs = argparse._SubParsersAction[ArgumentParser]

MOST_PROCESSES = 64  # as for calls.processes

_CODES = """\
exit codes:
  0    all well
  1    something failed; the last line says what
  2    the configuration or the command line is wrong
  75   another process took over our ARI app
  78   Asterisk refused our user, or is too old
  130  ended by Ctrl-C
"""


def parser() -> ArgumentParser:
    root = ArgumentParser(
        prog="voicebot",
        formatter_class=RawDescriptionHelpFormatter,
        description="Talk with a local language model over your own Asterisk.",
        epilog=f"examples:\n  voicebot up\n  voicebot demo\n  voicebot check-config -c voicebot.yaml\n\n{_CODES}",
    )
    subs = root.add_subparsers(metavar="COMMAND", required=True)
    _up(subs)
    _demo(subs)
    _run(subs)
    _worker(subs)
    _plan(subs)
    _call(subs)
    _replay(subs)
    _fetch(subs)
    _check_config(subs)
    _version(subs)
    return root


def _add(subs: "Subs", name: str, about: str, examples: str, *, config: bool = True) -> ArgumentParser:
    command = subs.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"examples:\n{examples}",
        formatter_class=RawDescriptionHelpFormatter,
    )
    if config:
        command.add_argument(
            "-c",
            "--config",
            type=Path,
            metavar="FILE",
            help="configuration (voicebot.yaml here, if there is one)",
        )
    return command


def _up(subs: "Subs") -> None:
    command = _add(
        subs,
        "up",
        "start everything on this machine: Asterisk, the model workers and the call process",
        "  voicebot up                      with voicebot.yaml here, or the defaults\n"
        "  voicebot up -c two-gpus.yaml\n"
        "Ctrl-C stops all of it; a second Ctrl-C does not wait for running calls.",
    )
    command.set_defaults(run=commands.up)


def _demo(subs: "Subs") -> None:
    command = _add(
        subs,
        "demo",
        "start everything, place a call with recorded questions, show what was said and how fast, stop",
        "  voicebot demo\n  voicebot demo --record call.wav   the caller left, the bot right",
    )
    command.add_argument(
        "--record",
        type=Path,
        metavar="FILE.wav",
        default=Path("var/demo.wav"),
        help="stereo sound of the call (%(default)s)",
    )
    command.set_defaults(run=commands.demo)


def _run(subs: "Subs") -> None:
    command = _add(
        subs,
        "run",
        "run the call process only: Asterisk and the workers run elsewhere or on their own",
        "  ARI_PASSWORD=... voicebot run -c voicebot.yaml\n"
        "  voicebot run --processes 4               four of them, each started again when it dies\n"
        "  voicebot run --processes 4 --number 2    the second of four, for a service manager that keeps each up",
    )
    command.add_argument(
        "--processes", type=_processes, metavar="N", help="call processes side by side (calls.processes)"
    )
    command.add_argument(
        "--number", type=_processes, metavar="K", help="run only the K-th of them, counted from 1"
    )
    command.add_argument(
        "--transcript-file",
        type=Path,
        metavar="FILE",
        help="append each turn's words and times to FILE, as JSON lines",
    )
    command.set_defaults(run=commands.run)


def _processes(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_PROCESSES:
        raise argparse.ArgumentTypeError(f"must be a number from 1 to {MOST_PROCESSES}")
    return int(text)


def _worker(subs: "Subs") -> None:
    command = _add(
        subs,
        "worker",
        "run one model worker: speech to text, language model or text to speech",
        "  voicebot worker stt\n  voicebot worker llm -c gpu.yaml",
    )
    command.add_argument("kind", choices=("stt", "llm", "tts"), help="which one")
    command.add_argument(
        "--plan",
        type=Path,
        metavar="FILE",
        help="obey this plan of the devices, as `voicebot plan --json` prints it (one is made if not given)",
    )
    command.set_defaults(run=commands.worker)


def _plan(subs: "Subs") -> None:
    command = _add(
        subs,
        "plan",
        "show which model goes on which GPU, what it needs there, and what that costs",
        "  voicebot plan                                for this machine and voicebot.yaml here\n"
        "  voicebot plan --show-devices > machine.json  on the machine that has the cards\n"
        "  voicebot plan --devices machine.json         anywhere: the plan for that machine\n"
        "  voicebot plan --json > plan.json             for `voicebot worker llm --plan plan.json`\n"
        "It ends with exit code 2 when something does not fit.",
    )
    command.add_argument(
        "--devices", type=Path, metavar="FILE", help="plan for a recorded machine instead of this one"
    )
    command.add_argument("--json", action="store_true", help="the plan as JSON")
    command.add_argument(
        "--show-devices", action="store_true", help="print what this machine has, as JSON for --devices"
    )
    command.set_defaults(run=commands.plan)


def _call(subs: "Subs") -> None:
    command = _add(
        subs,
        "call",
        "call the bot with a test phone, play recorded questions and show how fast it answers",
        "  voicebot call                                   calls 1000 and asks one question of ours\n"
        "  voicebot call --wav price01 --wav mine.wav --record call.wav\n"
        "  voicebot call sip:1000@10.0.0.5 --wav pay01     an Asterisk elsewhere\n"
        "  VOICEBOT_CALL_PASSWORD=... voicebot call --user desk1    as a phone that gives a password\n"
        "With asterisk.start: false an extension is one of the Asterisk at ari.url, at UDP port asterisk.sip_port.",
    )
    command.add_argument(
        "target", nargs="?", default="1000", help="extension on our Asterisk, or a sip: address (%(default)s)"
    )
    command.add_argument(
        "--user",
        metavar="NAME",
        help="a phone of pjsip.conf; its password is VOICEBOT_CALL_PASSWORD in the environment",
    )
    command.add_argument(
        "--wav",
        action="append",
        metavar="FILE",
        help="question to play (8 kHz mono WAV or a name of ours); again for more",
    )
    command.add_argument(
        "--record", type=Path, metavar="FILE.wav", help="stereo sound of the call: caller left, bot right"
    )
    command.set_defaults(run=commands.call)


def _replay(subs: "Subs") -> None:
    command = _add(
        subs,
        "replay",
        "run a recorded call again, offline, and show what is decided or heard otherwise now",
        "  voicebot replay var/flights/5f0c2a91.flight    recorded with calls.flight_recorder\n\n"
        "The conversation is run on what it was told then. The caller's sound, in 5f0c2a91.wav beside the flight\n"
        "(left: the caller, right: the bot), goes through today's ear: where speech started, paused, went on and\n"
        "ended, then and now. The times of all three count from the same instant. The settings are those of then.\n\n"
        "exit codes of replay:\n"
        "  0    as it was: no step is decided otherwise, no speech is heard more than a frame (20 ms) elsewhere\n"
        "  1    something is otherwise now\n"
        "  2    the file is no flight, or the wav is not its sound\n"
        "Without a wav, and of a flight as older versions wrote them, only the conversation is run again.",
        config=False,
    )
    command.add_argument("file", type=Path, metavar="FILE", help="a .flight file")
    command.set_defaults(run=commands.replay)


def _fetch(subs: "Subs") -> None:
    command = _add(
        subs,
        "fetch",
        "download everything the configuration needs, so that the machine can go offline",
        "  voicebot fetch\n  voicebot fetch -c voicebot.yaml",
    )
    command.add_argument("--for-tests", action="store_true", help="also what the tests need")
    command.add_argument("--only-missing", action="store_true", help="say nothing about what is here already")
    command.set_defaults(run=commands.fetch)


def _check_config(subs: "Subs") -> None:
    command = _add(
        subs,
        "check-config",
        "check the configuration and list everything wrong with it",
        "  voicebot check-config\n  voicebot check-config -c voicebot.yaml --show",
    )
    command.add_argument(
        "--show", action="store_true", help="print all values, defaults included (secrets masked)"
    )
    command.set_defaults(run=commands.check_config)


def _version(subs: "Subs") -> None:
    command = _add(subs, "version", "print the version", "  voicebot version", config=False)
    command.set_defaults(run=commands.version)
