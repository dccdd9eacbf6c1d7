"""https to Asterisk and to workers: certificates are checked, and an authority of one's own can be named (S2, S6)."""

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.support.certificates import Certificates, make_certificates

# as the call process does it; aiohttp reads the authorities once, when it is imported
PROGRAM = """
import asyncio, sys, aiohttp
from gpu_workers.client import TtsClient, WorkerError, health
from stasis_app.ari.errors import AriError
from stasis_app.ari.rest import Ari

async def main(url):
    async with aiohttp.ClientSession() as http:
        try:
            print("ARI", await Ari(http, url, "voicebot", "voicebot", 5, 1).version())
        except AriError as error:
            print("ARI", error)
        print("health", (await health(http, url, timeout_s=5)))
    async with TtsClient(url) as tts:
        try:
            async with tts.speak("Hello.", voice=None, call_id="c1") as speech:
                print("TTS", len([piece async for piece in speech]))
        except WorkerError as error:
            print("TTS", error)

asyncio.run(main(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@asynccontextmanager
async def server(certificates: Certificates, host: str) -> AsyncIterator[str]:
    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/v1/audio/speech":
            return web.Response(
                body=bytes(3200), headers={"Content-Type": "audio/pcm", "X-Sample-Rate": "8000"}
            )
        return web.json_response({"ready": True, "system": {"version": "22.10.1"}})

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.certificate, certificates.key)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        yield f"https://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def said(certificates: Certificates, host: str, trusted: Path | None) -> str:
    root = str(Path(__file__).parents[2])
    async with server(certificates, host) as url:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PROGRAM, url),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": root, **({"SSL_CERT_FILE": str(trusted)} if trusted else {})},
        )
        out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


async def test_an_authority_of_ones_own_is_named_in_the_environment(certificates: Certificates) -> None:
    lines = (await said(certificates, "127.0.0.1", certificates.authority)).splitlines()
    assert lines[0] == "ARI 22.10.1"
    assert "ready=True" in lines[1]
    assert lines[2].startswith("TTS ")


@pytest.mark.parametrize(
    ("host", "trusted", "why"),
    [("127.0.0.1", False, "local issuer certificate"), ("localhost", True, "not valid for 'localhost'")],
)
async def test_a_certificate_that_is_not_theirs_is_refused(
    certificates: Certificates, host: str, trusted: bool, why: str
) -> None:
    text = await said(certificates, host, certificates.authority if trusted else None)
    assert text.count("certificate verify failed") == text.count(why) == 3, text
