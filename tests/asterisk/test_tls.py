"""ARI, its events and the media websocket over TLS, with an authority of one's own (S2): a call on a real Asterisk."""

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path
from socket import SOCK_STREAM

import aiohttp
import yaml

from asterisk_conf import CONF_DIR
from caller_phone.phone import Phone
from tests.support.certificates import make_certificates
from tests.support.fake_workers import fake_workers
from tests.support.rig import HOST, free_ports, private_asterisk

ROOT = Path(__file__).parents[2]


async def test_a_call_over_https_and_wss(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    port, web = free_ports(2, SOCK_STREAM)
    conf = tmp_path / "conf"
    shutil.copytree(CONF_DIR, conf)
    with (conf / "http.conf").open("a") as http:
        http.write(
            f"[general](+)\ntlsenable = yes\ntlsbindaddr = {HOST}:{port}\n"
            f"tlscertfile = {made.certificate}\ntlsprivatekey = {made.key}\n"
        )
    async with private_asterisk(conf) as asterisk, fake_workers() as fakes, Phone() as phone:
        urls = {"stt": fakes.stt_url, "llm": fakes.llm_url, "tts": fakes.tts_url}
        config = {
            "asterisk": {"start": False},
            "ari": {"url": f"https://{HOST}:{port}", "password": "for-tests-only"},
            "media": {"transport": "websocket"},
            "web": {"port": web},
            "calls": {"drain_s": 0},
            "workers": {
                "cache_dir": str(tmp_path / "cache"),
                **{name: {"start": False, "url": url} for name, url in urls.items()},
            },
            "profiles": {"default": {"prompt": "You are a test.", "greeting": "Hello.", "no_input_s": 60}},
        }
        (tmp_path / "voicebot.yaml").write_text(yaml.safe_dump(config))
        bot = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "voicebot", "run", "-c", "voicebot.yaml"),
            cwd=tmp_path,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), "SSL_CERT_FILE": str(made.authority)},
        )
        assert bot.stderr is not None
        try:
            async with asyncio.timeout(60), aiohttp.ClientSession() as client:
                while not await is_ready(client, f"http://{HOST}:{web}/ready"):
                    assert bot.returncode is None
                    await asyncio.sleep(0.1)
            async with phone.call(f"sip:1000@{HOST}:{asterisk.sip_port}") as call:
                await call.wait_for_bot_speech(30, since_s=call.answered_s)
        finally:
            bot.terminate()
            log = (await bot.stderr.read()).decode()
            await bot.wait()
        assert bot.returncode == 0, log
        assert "ARI events from https://" in log
        assert re.search(r"call [0-9a-f]{8} \(channel \S+\) ended after", log), log
        assert "Traceback" not in log


async def is_ready(client: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with client.get(url) as answer:
            return answer.status == 200
    except aiohttp.ClientError:
        return False
