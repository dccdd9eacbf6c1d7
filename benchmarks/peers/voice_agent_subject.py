"""`asterisk-ai-voice-agent` as a subject of `benchmarks.media`. Runs in its own environment.

This is the package of that name on the package index (by ICT Innovations). It speaks no RTP: its default medium is
AudioSocket, `slin` at 8 kHz over TCP. So `listening` names one address for all calls, the callers are
`benchmarks.peers.stream_callers audiosocket`, and call number i has the UUID i + 1, registered as its dialplan does.

Included, all of it the package's own code with its defaults: its server and `main()`, one `Call` with
`AudioSocketTransport` a caller, `StreamingSTT.feed` on every 20 ms with WebRTC VAD (mode 2), utterances closed after
550 ms of silence and wrapped as WAV, the watchdog for gaps, `StreamingTTS` with its resampling from 22.05 kHz, and the
paced `play()`. While the bot is silent it sends nothing.

Not included: recognition (answers at once that nothing was said), language model, and the voice, which gives recorded
sentences. The bot speaks by the benchmark's own times, so nothing is said in answer; a caller who speaks does not
interrupt it (`interrupt_enabled: false`), or it would say less than the others. Its log is at WARNING, its limit of
calls at one hundred thousand instead of two.
"""

import asyncio
import json
import os
import socket
import tempfile
import wave
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from uuid import UUID

import yaml

from benchmarks.peers.seam import VOICE_RATE, Answered, Seam, talk, voice

# read on import
os.environ.setdefault("AI_AGENT_LOG", "WARNING")

from asterisk_ai_voice_agent import agent, llm, stt, tts

HOST = "127.0.0.1"


class Recogniser(stt.StreamingSTT):
    """Everything but the request to the recogniser."""

    counts: ClassVar["Counter[str]"] = Counter()

    async def feed(self, samples: bytes) -> None:
        self.counts["heard"] += 1
        await super().feed(samples)

    async def _transcribe_whisper(self, wav_bytes: bytes) -> str:
        self.counts["utterances"] += bool(wav_bytes)
        return ""


class RecordedVoice:
    """In the place of a Piper voice: the "text" is the number of a recorded sentence."""

    config = SimpleNamespace(sample_rate=VOICE_RATE)
    sentences: ClassVar[list[bytes]] = []

    def synthesize(self, text: str, file: wave.Wave_write) -> None:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(VOICE_RATE)
        file.writeframes(self.sentences[int(text)])


class Voice(tts.StreamingTTS):
    """Everything but the model."""

    async def _ensure_piper(self) -> None:
        tts._VOICE_LOCK = tts._VOICE_LOCK or asyncio.Lock()
        self.voice_path = "recorded"
        self._voice = RecordedVoice()
        self._native_sr = VOICE_RATE


class Model(llm.LLM):
    """Is never asked."""

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass


class ScheduledCall(agent.Call):
    """A call whose bot speaks at the benchmark's times."""

    answered: ClassVar[Answered] = Answered()

    async def _reader_loop(self, interrupt_enabled: bool, max_secs: int) -> None:
        sentences = RecordedVoice.sentences
        number = UUID(self.uuid).int - 1

        async def say(said: bytes) -> None:
            await self.say(str(sentences.index(said)))

        await self.answered.add()
        talking = asyncio.create_task(talk(number, sentences, say))
        try:
            await super()._reader_loop(interrupt_enabled, max_secs)
        finally:
            talking.cancel()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        return int(sock.getsockname()[1])


def register(port: int, number: int) -> None:
    """As the dialplan does before AudioSocket(). Its server takes one read for the whole request, so in one segment."""
    body = json.dumps({"uuid": str(UUID(int=number + 1)), "persona": "demo"}).encode()
    head = f"POST /register HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection((HOST, port), 10) as sock:
        sock.sendall(head + body)
        if b'"ok":true' not in sock.makefile("rb").read():
            raise SystemExit("a call could not be registered")


def settings(folder: Path, audio_port: int, register_port: int) -> None:
    """Its two configuration files, and the environment that names them."""
    config = {
        "listen": {"host": HOST, "audiosocket_port": audio_port, "register_port": register_port},
        "providers": {"openai": {"api_key": "none"}},
        "limits": {"max_concurrent_calls": 100_000},
    }
    personas = {"demo": {"interrupt_enabled": False}}
    for name, content in (("CONFIG", config), ("PERSONAS", personas)):
        path = folder / f"{name.lower()}.yaml"
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        os.environ[f"AI_AGENT_{name}"] = str(path)


async def listening(port: int) -> None:
    while True:
        try:
            _reader, writer = await asyncio.open_connection(HOST, port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


async def main() -> None:
    seam = await Seam.opened()
    RecordedVoice.sentences = voice()
    package: Any = agent
    package.StreamingSTT, package.StreamingTTS, package.LLM = Recogniser, Voice, Model
    package.Call = ScheduledCall
    audio_port, register_port = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        settings(Path(folder), audio_port, register_port)
        server = asyncio.create_task(agent.main())
        await listening(audio_port)
        seam.tell({"ready": True})
        count = (await seam.hear("open"))["open"]
        for number in range(count):
            await asyncio.to_thread(register, register_port, number)
        seam.tell({"listening": [[HOST, audio_port]] * count})
        await ScheduledCall.answered.wait(count)
        seam.tell({"answered": count})
        await seam.hear("close")
        server.cancel()
    seam.close(Recogniser.counts)


if __name__ == "__main__":
    asyncio.run(main())
