"""`voicebot call`: a test phone that asks recorded questions; and its figures, as the demo shows them too."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from caller_phone.phone import Credentials, Phone, local_host_for
from caller_phone.script import HangUp, Say, Step, TalkResult, WaitAnswer, WaitGreeting, run_script
from voicebot import supervise
from voicebot.addresses import sip_address
from voicebot.config import Config
from voicebot.errors import UsageError
from voicebot.speech import speech_file
from voicebot.table import table

PASSWORD_VARIABLE = "VOICEBOT_CALL_PASSWORD"  # noqa: S105 - the name of a variable


def login(user: str | None, environ: Mapping[str, str]) -> Credentials | None:
    """Who the phone is, with the password of the environment. Raises UsageError when there is none."""
    if user is None:
        return None
    password = environ.get(PASSWORD_VARIABLE)
    if not password:
        raise UsageError(
            f"--user {user}: set {PASSWORD_VARIABLE} in the environment to its password, that of the `type = auth`"
            " section in pjsip.conf"
        )
    return Credentials(user, password)


async def place(
    config: Config,
    target: str,
    wavs: Sequence[str],
    record: Path | None,
    who: Credentials | None,
    say: supervise.Say,
) -> int:
    """Call `target` as `who`, ask each of `wavs` and wait for its answer; 0 when each was answered, else 1.

    Raises UsageError for a file that is not there, PhoneError when the call is not answered.
    """
    steps: list[Step] = [WaitGreeting()]
    for wav in wavs:
        steps += [Say(speech_file(wav)), WaitAnswer()]
    uri = target if target.startswith("sip:") else number_uri(config, target)
    say(f"Calling {uri} ...")
    result = await talk(uri, [*steps, HangUp()], who)
    say(figures(result))
    if record:
        record.parent.mkdir(parents=True, exist_ok=True)
        result.recording.write_wav(record)
        say(f"The call (left: caller, right: bot): {record}")
    return 0 if all_answered(result, len(wavs)) else 1


def number_uri(config: Config, number: str) -> str:
    """The sip: address of an extension of the Asterisk that voicebot brings, or of the one at ari.url."""
    if config.asterisk.start:
        return sip_address(config).replace("sip:", f"sip:{number}@", 1)
    host = urlsplit(config.ari.url).hostname or ""
    return f"sip:{number}@{f'[{host}]' if ':' in host else host}:{config.asterisk.sip_port}"


async def talk(uri: str, steps: Sequence[Step], who: Credentials | None = None) -> TalkResult:
    """One scripted call. Raises PhoneError when it is not answered."""
    # Asterisk knows a phone that gives a password by the user part of its From
    caller = who.user if who else "caller"
    async with Phone(local_host_for(uri)) as phone, phone.call(uri, caller=caller, credentials=who) as call:
        return await run_script(call, steps)


def all_answered(result: TalkResult, questions: int) -> bool:
    """Whether the bot greeted and answered each of `questions`. That it hangs up after a goodbye is well."""
    return result.greeting_ms is not None and [turn.answered for turn in result.turns] == [True] * questions


def figures(result: TalkResult) -> str:
    """The turns as the caller heard them."""
    rows = [
        (
            turn.said,
            "yes" if turn.answered else "NO",
            _ms(turn.response_ms),
            _ms(turn.answer_duration_ms),
            _ms(turn.cut_ms),
        )
        for turn in result.turns
    ]
    packets = result.packets
    lines = [
        table(("question", "answered", "response", "answer lasts", "bot silent after interruption"), rows),
        f"greeting after {_ms(result.greeting_ms)}; {packets.packets} packets from Asterisk, {packets.missing} missing"
        f", gap p99 {_ms(packets.gap_p99_ms)}, max {_ms(packets.gap_max_ms)}",
    ]
    lines += turn_taking(result)
    if result.stopped_at:
        lines.append(f"The call ended early, at {result.stopped_at}.")
    return "\n".join(lines)


def turn_taking(result: TalkResult) -> list[str]:
    """What the bot made of pauses inside a turn, and of what was said over it."""
    lines = []
    for turn in result.turns:
        if turn.pauses_ms:
            pauses = f"{turn.said}, with pauses of {' and '.join(map(_ms, turn.pauses_ms))} inside:"
            if turn.early_ms is not None:
                lines.append(f"{pauses} answered {_ms(turn.early_ms)} before its end")
            elif turn.response_ms is not None:
                lines.append(f"{pauses} waited for, answered {_ms(turn.response_ms)} after its end")
        if turn.cut_ms is not None:
            lines.append(f"{turn.said}, over the bot: it stopped after {_ms(turn.cut_ms)}")
    for murmur in result.murmurs:
        went_on = {None: "no more was heard of it", 0.0: "it talked on"}.get(
            murmur.pause_ms, f"silent for {_ms(murmur.pause_ms)}, then it went on"
        )
        lines.append(f"{murmur.said}, over the answer to {murmur.over}: {went_on}")
    return lines


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f} ms"
