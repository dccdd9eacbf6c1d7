"""What can go wrong in this package: `ModelError` before a model runs, `RequestError` for one request,
`WorkerError` for a client."""

from collections.abc import Mapping
from typing import Final, Literal

ErrorType = Literal[
    "invalid_request_error", "authentication_error", "rate_limit_error", "server_error", "unavailable_error"
]

_TYPE_OF_STATUS: Final[Mapping[int, ErrorType]] = {
    401: "authentication_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "unavailable_error",
}


class GpuWorkersError(Exception):
    """Base of every error that this package raises on purpose."""


class ModelError(GpuWorkersError):
    """A model cannot be fetched, read or started; the message names it and says what to do."""


class WorkerError(GpuWorkersError):
    """A worker, or the way to it, failed a client.

    `retryable`: the same request may succeed if it is sent again, here or to another replica.
    `status` is the HTTP status where there was one. `worker`: stt, llm or tts, where it is known.
    """

    def __init__(
        self, message: str, retryable: bool = False, status: int | None = None, worker: str = "unknown"
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.status = status
        self.worker = worker


class RequestError(GpuWorkersError):
    """One request is not served. Becomes the OpenAI error body with this HTTP status.

    `code` is a short machine-readable word, `param` the field of the request that is at fault,
    `retry_after_s` goes out as `Retry-After`.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str,
        param: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.retry_after_s = retry_after_s

    def body(self) -> dict[str, dict[str, str | None]]:
        """The JSON of an OpenAI error."""
        kind = _TYPE_OF_STATUS.get(self.status, "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}
