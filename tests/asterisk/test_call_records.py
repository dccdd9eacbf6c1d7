"""The bot's name of a call in Asterisk's call detail records, by the lines that the dialplan's comments show."""

import asyncio
import csv
import re
import shutil
from pathlib import Path

from asterisk_conf import CONF_DIR
from caller_phone.phone import Phone
from tests.support.bot import running_bot
from tests.support.callers import number, until
from tests.support.fake_workers import fake_workers
from tests.support.rig import private_asterisk

UNIQUE_ID, USER_FIELD = -2, -1
"""Columns of cdr_csv with loguniqueid and loguserfield."""


def with_records(folder: Path) -> Path:
    conf = shutil.copytree(CONF_DIR, folder / "conf", ignore=shutil.ignore_patterns("local"))
    dialplan = conf / "voicebot" / "extensions_voicebot.conf"
    text = dialplan.read_text()
    step = re.search(r"^; +(same => n,Set\(CHANNEL\(hangup_handler_push\)=.*)$", text, re.MULTILINE)
    context = re.search(r"^; +\[voicebot-record\]\n(?:; +(?:exten|same) =>.*\n)+", text, re.MULTILINE)
    assert step and context
    limit = " same => n,Set(TIMEOUT(absolute)=3600)\n"
    assert limit in text
    lines = re.sub(r"^; +", "", context[0], flags=re.MULTILINE)
    dialplan.write_text(text.replace(limit, f"{limit} {step[1]}\n", 1) + f"\n{lines}")
    (conf / "cdr.conf").write_text("[general]\nenable = yes\n[csv]\nloguniqueid = yes\nloguserfield = yes\n")
    with (conf / "modules.conf").open("a") as modules:
        modules.write("load = func_cdr.so\nload = cdr_csv.so\n")
    return conf


def named(records: Path) -> list[list[str]]:
    """The records that have a name in them."""
    lines = records.read_text().splitlines() if records.exists() else []
    return [row for row in csv.reader(lines) if row[USER_FIELD]]


async def test_a_record_names_the_call_though_the_caller_hung_up(tmp_path: Path) -> None:
    transcript = tmp_path / "transcript.jsonl"
    async with (
        fake_workers() as workers,
        private_asterisk(with_records(tmp_path)) as asterisk,
        running_bot(asterisk, workers, tmp_path, transcript=transcript) as bot,
    ):
        records = asterisk.log_path.parent / "cdr-csv" / "Master.csv"
        records.parent.mkdir()
        async with Phone() as phone, phone.call(number(asterisk)) as call:
            await call.wait_for_bot_speech(20, since_s=call.answered_s)
            await asyncio.sleep(1)
        await bot.until_idle()
        await until(lambda: named(records))
        rows = named(records)
    (name,) = set(re.findall(r'"call": ?"([0-9a-f]{8})"', transcript.read_text()))
    (row,) = rows
    assert row[USER_FIELD] == name
    assert not row[UNIQUE_ID].startswith("vb-")
