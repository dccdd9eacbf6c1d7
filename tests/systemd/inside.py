"""What is tried on the machine of tests/systemd/machine.sh, as root, systemd being process 1.

    python -m tests.systemd.inside [STEP ...]

The units are installed by the very lines of docs/cluster.md. Each step prints a line; the first that fails ends it
with status 1. Reading and writing small files holds nobody up here.
"""
# ruff: noqa: ASYNC240

import asyncio
import re
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp

from caller_phone.call import Call
from caller_phone.phone import Phone
from caller_phone.script import Say, WaitAnswer, run_script
from tests.systemd.asterisk import PASSWORD

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cluster.md").read_text().partition("\n## systemd\n")[2]
QUESTION = ROOT / "tests" / "data" / "speech" / "price01.wav"
NUMBER = "sip:1000@127.0.0.1:5060"
WORKERS = ("voicebot-stt", "voicebot-tts", "voicebot-llm")
CALLS = ("voicebot@1", "voicebot@2")
DRAIN_S = 25
TOO_SHORT_S = 5
"""A TimeoutStopSec below it."""
CONFIG = f"""
asterisk: {{start: false}}
ari: {{password: "${{ARI_PASSWORD}}"}}
calls: {{processes: 2, drain_s: {DRAIN_S}, flight_recorder: flights, flight_keep_calls: 1000}}
"""
TEMPORARY_FAILURE = 41
"""The cause the dialplan ends a call with that no bot takes."""
MAY_WRITE = {"/tmp", "/var/tmp", "/var/cache/voicebot"}
DEVICES = ("/dev/shm", "/dev/mqueue", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
           "/dev/ptmx", "/dev/pts/ptmx", "/dev/net/tun", "/dev/fuse")  # fmt: skip


async def run(command: str) -> str:
    """Raises AssertionError, with what it said, when it fails."""
    status, said = await tried(command)
    assert status == 0, f"`{command}` ended with {status}: {said}"
    return said


async def tried(command: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_shell(
        command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )  # fmt: skip
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode(errors="replace").strip()


async def shown(unit: str, *names: str) -> tuple[str, ...]:
    said = await run(f"systemctl show {unit} -p {','.join(names)}")
    found = dict(line.split("=", 1) for line in said.splitlines())
    return tuple(found[name] for name in names)


async def until(holds: Callable[[], Awaitable[bool]], within_s: float, what: str) -> float:
    began = time.monotonic()
    while not await holds():
        assert time.monotonic() < began + within_s, f"not within {within_s:g} s: {what}"
        await asyncio.sleep(0.05)
    return time.monotonic() - began


class Machine:
    """The units, by what an admin can see of them."""

    def __init__(self, http: aiohttp.ClientSession, phone: Phone) -> None:
        self.http = http
        self.phone = phone

    async def asked(self, number: int, path: str) -> tuple[int, str]:
        """0 when nobody is there."""
        try:
            async with self.http.get(f"http://127.0.0.1:{8079 + number}/{path}") as answer:
                return answer.status, await answer.text()
        except aiohttp.ClientError:
            return 0, ""

    async def ready(self, number: int) -> bool:
        return (await self.asked(number, "ready"))[0] == 200

    async def all_ready(self) -> bool:
        return await self.ready(1) and await self.ready(2)

    async def calls(self, number: int) -> int:
        _, body = await self.asked(number, "ready")
        return int(re.findall(r'"calls": (\d+)', body)[0]) if body else 0

    async def refused(self, number: int) -> float:
        _, text = await self.asked(number, "metrics")
        found = re.findall(r'^voicebot_calls_refused_total\{reason="draining"\} (\S+)$', text, re.MULTILINE)
        return float(found[0]) if found else 0.0

    async def greeted(self, stack: AsyncExitStack) -> Call:
        call = await stack.enter_async_context(self.phone.call(NUMBER))
        await call.wait_for_bot_speech(20, since_s=call.answered_s)
        return call

    async def who_has_it(self) -> int:
        return 1 if await self.calls(1) else 2


async def answered(call: Call) -> float | None:
    """Ask a question; the time to the answer in ms."""
    (turn,) = (await run_script(call, [Say(QUESTION), WaitAnswer()])).turns
    assert turn.answered, "the question was not answered"
    return turn.response_ms


async def stopped(unit: str, within_s: float) -> float:
    async def inactive() -> bool:
        return (await shown(unit, "ActiveState"))[0] in {"inactive", "failed"}

    return await until(inactive, within_s, f"{unit} has ended")


async def well_ended(unit: str) -> None:
    ended = await shown(unit, "ActiveState", "Result", "ExecMainCode", "ExecMainStatus")
    assert ended == ("inactive", "success", "1", "0"), f"{unit}: {ended}"


def block_with(words: str) -> str:
    """The one block of commands of the page that has these words; root needs no sudo."""
    blocks = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (found,) = (block for block in blocks if words in block)
    return str(found).replace("sudo ", "")


# --- the steps -----------------------------------------------------------------------------------------------------


async def installed(machine: Machine) -> str:
    lines = [line.partition("   #")[0].strip() for line in block_with("useradd").splitlines()]
    Path("voicebot.yaml").write_text(CONFIG)
    if not Path("/var/cache/voicebot/models").exists():
        Path("/var/cache/voicebot").mkdir(exist_ok=True)
        Path("/var/cache/voicebot/models").symlink_to("/srv/voicebot/models")
    done = []
    for line in lines:
        if "journalctl" in line or ("useradd" in line and (await tried("id voicebot"))[0] == 0):
            continue
        await run(line.replace("ARI_PASSWORD=...", f"ARI_PASSWORD={PASSWORD}"))
        done.append(line)
        if "daemon-reload" in line:
            await run("systemctl start asterisk")
    took = await until(machine.all_ready, 120, "both call processes are ready")
    return f"{len(done)} lines of the page; both ready {took:.1f} s after them"


async def verified(_: Machine) -> str:
    scores = []
    for unit in (*WORKERS, *CALLS[:1]):
        said = await run(f"systemd-analyze verify {unit}.service 2>&1")
        assert not said, said
        rated = await run(f"systemd-analyze security --no-pager {unit}.service")
        scores.append(f"{unit} {re.findall(r'exposure level .*: ([0-9.]+)', rated)[0]}")
    return "nothing to say; exposure " + ", ".join(scores)


async def confined(_: Machine) -> str:
    """What a running one may write, asked in its own view of the machine, as its own user."""
    for unit in (*WORKERS, *CALLS):
        (pid,) = await shown(unit, "MainPID")
        status = dict(
            line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
        )  # fmt: skip
        assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0, unit
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), unit
        said = await run(
            f"nsenter -t {pid} -m -r setpriv --reuid voicebot --regid voicebot --clear-groups "
            r"find / \( -path /proc -o -path /sys \) -prune -o -writable ! -type l ! -type s -print 2>/dev/null || true"
        )
        allowed = MAY_WRITE | ({"/var/lib/voicebot"} if unit in CALLS else set())
        found = set(said.splitlines())
        strange = {
            path
            for path in found
            if not any(path == one or path.startswith(f"{one}/") for one in (*allowed, *DEVICES))
        }
        assert not strange, f"{unit} may also write {sorted(strange)}"
        assert found >= allowed, f"{unit} may not write {sorted(allowed - found)}"
    return "each may write its own folders, private /tmp and /var/tmp, and nothing else; no capability, seccomp on"


async def one_of_two_stops(machine: Machine) -> str:
    """P10: the call goes on, the other process takes the new ones."""
    async with AsyncExitStack() as stack:
        call = await machine.greeted(stack)
        leaving = await machine.who_has_it()
        staying = 3 - leaving
        await run(f"systemctl --no-block stop voicebot@{leaving}")
        await until(lambda: not_ready(machine, leaving), 5, "/ready says no")
        second = await machine.greeted(stack)
        assert await machine.calls(staying) == 1, "the other one has the new call"
        first_ms = await answered(call)
        assert (await machine.calls(leaving), await machine.calls(staying)) == (1, 1)
        await call.hang_up()
        took = await stopped(f"voicebot@{leaving}", 20)
        await well_ended(f"voicebot@{leaving}")
        assert second.is_up
    await run(f"systemctl start voicebot@{leaving}")
    await until(machine.all_ready, 60, "both are ready again")
    return (
        f"its caller was answered after {first_ms:.0f} ms; it ended {took:.1f} s after the caller, status 0"
    )


async def not_ready(machine: Machine, number: int) -> bool:
    return not await machine.ready(number)


async def the_last_one_stops(machine: Machine) -> str:
    """P10: new calls go to the dialplan, the goodbye is said after calls.drain_s; which is more than the unit gives."""
    short = Path("/run/systemd/system/voicebot@1.service.d/short.conf")
    short.parent.mkdir(parents=True, exist_ok=True)
    short.write_text(f"[Service]\nTimeoutStopSec={TOO_SHORT_S}\n")
    await run("systemctl daemon-reload; systemctl stop voicebot@2")
    async with AsyncExitStack() as stack:
        call = await machine.greeted(stack)
        await run("systemctl --no-block stop voicebot@1")
        began = time.monotonic()
        await until(lambda: not_ready(machine, 1), 5, "/ready says no")
        asked = await shown("voicebot@1", "ActiveState", "TimeoutStopUSec")
        assert asked == ("deactivating", f"{TOO_SHORT_S}s"), asked
        refused = await machine.greeted(stack)  # the announcement
        assert await machine.refused(1) == 1
        await answered(call)
        await refused.wait_for_end(30)
        assert refused.cause == TEMPORARY_FAILURE, refused.cause
        assert call.is_up
        quiet_s = time.monotonic()
        await call.wait_for_bot_speech(DRAIN_S + 5, since_s=quiet_s, began_after_s=began + DRAIN_S - 1)
        await call.wait_for_end(20)
        assert call.ended_by_far_end
        await stopped("voicebot@1", 20)
        took = time.monotonic() - began
        await well_ended("voicebot@1")
    short.unlink()
    await run("systemctl daemon-reload; systemctl start voicebot@1 voicebot@2")
    await until(machine.all_ready, 60, "both are ready again")
    return f"the new caller heard the announcement; ended {took:.1f} s after the stop (drain_s {DRAIN_S}), status 0"


def flights() -> int:
    """How many calls the bots have had."""
    return len(list(Path("/var/lib/voicebot/flights").glob("*.flight")))


async def renewed_one_after_another(machine: Machine) -> str:
    """The lines of the page, beside a caller who asks and others who come."""
    lines = block_with("for n in")
    before = [await shown(unit, "MainPID") for unit in CALLS]
    heard, stop = 0, asyncio.Event()
    taken = flights()
    async with AsyncExitStack() as stack:
        call = await machine.greeted(stack)
        renewing = asyncio.create_task(run(lines))

        async def others() -> None:
            nonlocal heard
            while not stop.is_set():
                async with AsyncExitStack() as visit:
                    await machine.greeted(visit)
                heard += 1

        visiting = asyncio.create_task(others())
        await answered(call)
        await call.hang_up()
        await renewing
        stop.set()
        await visiting
    assert flights() - taken == 1 + heard, "the dialplan had some"
    assert not set(before) & {await shown(unit, "MainPID") for unit in CALLS}
    assert await machine.all_ready()
    return f"both are new; the caller was answered, {heard} who came meanwhile were greeted by a bot"


async def reloaded(machine: Machine) -> str:
    async with AsyncExitStack() as stack:
        call = await machine.greeted(stack)
        status, said = await tried("systemctl reload voicebot@1 voicebot@2")
        assert status != 0 and "not applicable" in said, said
        await answered(call)
    assert await machine.all_ready()
    return "refused by systemd, calls go on"


async def a_worker_restarts(machine: Machine) -> str:
    async with AsyncExitStack() as stack:
        call = await machine.greeted(stack)
        took = []
        for unit in WORKERS:
            began = time.monotonic()
            await run(f"systemctl stop {unit}")
            await well_ended(unit)
            took.append(f"{unit} {time.monotonic() - began:.1f} s")
            await run(f"systemctl start {unit}")
        await until(machine.all_ready, 60, "the workers are back")
        await answered(call)
    return f"the call went on and was answered afterwards; stopped within {', '.join(took)}, status 0"


async def killed(machine: Machine) -> str:
    async with AsyncExitStack() as stack:
        call = await machine.greeted(stack)
        number = await machine.who_has_it()
        unit = f"voicebot@{number}"
        restarts, pid = await shown(unit, "NRestarts", "MainPID")
        await run(f"kill -KILL {pid}")
        killed_s = time.monotonic()
        await until(lambda: not_ready(machine, number), 5, "it is gone")
        await until(machine.all_ready, 60, "it is back")
        took = time.monotonic() - killed_s
        assert int((await shown(unit, "NRestarts"))[0]) == int(restarts) + 1
        await call.wait_for_bot_speech(20, since_s=killed_s + 0.5)
        await call.wait_for_end(30)
        assert call.cause == TEMPORARY_FAILURE, call.cause
    return f"ready again after {took:.1f} s, its caller went on in the dialplan"


async def replaced(machine: Machine) -> str:
    """Exit code 75: the call is finished, the unit does not take the app back."""
    Path("/tmp/other.yaml").write_text(
        CONFIG.replace("processes: 2", "processes: 1")
        + "web: {port: 8090}\nmedia: {port_start: 21000, port_end: 21998}\n"
    )
    async with AsyncExitStack() as stack:
        call = await machine.greeted(stack)
        while await machine.who_has_it() != 1:
            call = await machine.greeted(stack)
        await run(
            "systemd-run --quiet --unit=other --setenv=VOICEBOT_CACHE=/srv/voicebot "
            f"--setenv=ARI_PASSWORD={PASSWORD} {ROOT}/.venv/bin/voicebot run -c /tmp/other.yaml"
        )
        await until(lambda: not_ready(machine, 1), 30, "/ready says no")
        await answered(call)
    await stopped("voicebot@1", 20)
    await asyncio.sleep(3)
    ended = await shown("voicebot@1", "ActiveState", "ExecMainStatus", "NRestarts")
    assert ended == ("failed", "75", "0"), ended
    await run("systemctl stop other; systemctl reset-failed; systemctl start voicebot@1")
    await until(machine.all_ready, 60, "both are ready again")
    return "the call was finished; failed with status 75, once"


async def not_started_in_vain(_: Machine) -> str:
    """What a restart cannot mend."""
    good = Path("/etc/voicebot/voicebot.yaml").read_text()
    ended = []
    try:
        for told, status in (("calls: {processes: 2, drain_: 1}", "2"), (CONFIG + "web: {port: 5x}", "2")):
            Path("/etc/voicebot/voicebot.yaml").write_text(told)
            await run("systemctl restart voicebot@2")
            await asyncio.sleep(6)
            state = await shown("voicebot@2", "ActiveState", "ExecMainStatus", "NRestarts")
            assert state == ("failed", status, "0"), state
            ended.append(state)
    finally:
        Path("/etc/voicebot/voicebot.yaml").write_text(good)
    await run("systemctl reset-failed; systemctl start voicebot@2")
    return "a wrong voicebot.yaml: failed with status 2, once"


async def kept(_: Machine) -> str:
    """What the units did write, with whose rights."""
    said = await run(
        "find /var/lib/voicebot /var/cache/voicebot -type f -printf '%u %m %h\n' | sort | uniq -c"
    )
    files = [line.split() for line in said.splitlines()]
    assert {user for _, user, _, _ in files} == {"voicebot"}
    assert not [line for line in files if int(line[2], 8) & 0o077], "others may read them"
    folders = {folder: int(count) for count, _, _, folder in files}
    assert folders["/var/lib/voicebot/flights"] >= 2, "a flight of each call"
    return ", ".join(f"{folder} {count}" for folder, count in folders.items())


async def everything_stops(machine: Machine) -> str:
    """As at a shutdown: one transaction. The call ends before what it needs."""
    await until(machine.all_ready, 60, "both are ready")
    async with AsyncExitStack() as stack:
        call = await machine.greeted(stack)
        units = " ".join((*WORKERS, *CALLS, "asterisk"))
        began = time.monotonic()
        stopping = asyncio.create_task(run(f"systemctl stop {units}"))
        await asyncio.sleep(1)
        await answered(call)
        assert not stopping.done()
        await call.hang_up()
        await stopping
        took = time.monotonic() - began
    for unit in (*WORKERS, *CALLS):
        await well_ended(unit)
    return f"the caller was answered while everything was stopping; all ended after {took:.1f} s, status 0"


STEPS = (
    installed, verified, confined, reloaded, one_of_two_stops, the_last_one_stops, renewed_one_after_another,
    a_worker_restarts, replaced, killed, not_started_in_vain, everything_stops, kept,
)  # fmt: skip


async def main() -> int:
    chosen = [
        step for step in STEPS if len(sys.argv) < 2 or step is installed or step.__name__ in sys.argv[1:]
    ]
    async with aiohttp.ClientSession() as http, Phone() as phone:
        machine = Machine(http, phone)
        for step in chosen:
            try:
                print(f"ok      {step.__name__}: {await step(machine)}", flush=True)
            except Exception as error:  # noqa: BLE001 - the report says it
                print(f"FAILED  {step.__name__}: {error!r}", flush=True)
                _, log = await tried("journalctl --no-pager -n 60 -o short-monotonic")
                print(log)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
