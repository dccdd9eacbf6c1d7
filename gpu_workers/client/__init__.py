"""Clients of the three workers, or of any other server of the OpenAI API.

Leaving `stream` or `speak`, or cancelling `transcribe`,
closes the HTTP connection: that is how work is cancelled.
"""

from gpu_workers.client.chat import Message, ToolCall
from gpu_workers.client.health import Asked, Health, each_health, health, together
from gpu_workers.client.link import Limits, worker_session
from gpu_workers.client.llm import LlmClient, LlmStream
from gpu_workers.client.stt import Priority, SttClient, Transcript
from gpu_workers.client.tts import Speech, TtsClient
from gpu_workers.errors import WorkerError

__all__ = [
    "Asked",
    "Health",
    "Limits",
    "LlmClient",
    "LlmStream",
    "Message",
    "Priority",
    "Speech",
    "SttClient",
    "ToolCall",
    "Transcript",
    "TtsClient",
    "WorkerError",
    "each_health",
    "health",
    "together",
    "worker_session",
]
