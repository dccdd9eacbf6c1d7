"""The tap on the callers' wire: it stands between SIPp and Asterisk, passes on SIP and RTP, and writes down both.

    python -m benchmarks.load_kit.tap ASTERISK_HOST:PORT SIP_PORT FIRST_RTP_PORT LAST_RTP_PORT FOLDER

No privileges are needed: the callers' Via, Contact and media address name the tap, and so do the addresses in
Asterisk's answers. What a call sent and got becomes FOLDER/NUMBER.pcap when it has ended; stamps are the kernel's own,
taken as a packet reaches this machine's socket, so a tap that is late delays packets but moves no figure of the bot's.
It writes `ready` and runs until SIGTERM.
"""

import heapq
import re
import select
import signal
import socket
import struct
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.load_kit.pcap import HEADER, Address, record

HOST = "127.0.0.1"
# what still comes after the last message of a call belongs to it
LINGER_S = 0.5
_DATAGRAM_BYTES = 4096
_AT_ONCE = 64
_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@qq")
_ANCILLARY = socket.CMSG_SPACE(_TIMESPEC.size)
_BUFFER_BYTES = 1 << 20
_CALL_ID = re.compile(rb"^(?:Call-ID|i)[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
_CSEQ = re.compile(rb"^CSeq[ \t]*:[ \t]*\d+[ \t]+(\w+)", re.IGNORECASE | re.MULTILINE)
_AUDIO = re.compile(rb"^m=audio (\d+)", re.MULTILINE)
_LENGTH = re.compile(rb"^(Content-Length|l)([ \t]*:[ \t]*)\d+", re.IGNORECASE | re.MULTILINE)


@dataclass(slots=True)
class Tapped:
    """One call. `caller` and `asterisk` are where each of the two sends its sound from."""

    number: int
    sipp: Address
    media: socket.socket
    media_address: Address
    caller: Address | None = None
    asterisk: Address | None = None
    log: bytearray = field(default_factory=lambda: bytearray(HEADER))
    over: bool = False


def with_media_port(message: bytes, port: int) -> tuple[bytes, int | None]:
    """A SIP message whose session description, if it has one, names `port`; and the port that it named."""
    head, separator, body = message.partition(b"\r\n\r\n")
    named = _AUDIO.search(body)
    if named is None:
        return message, None
    body = _AUDIO.sub(b"m=audio %d" % port, body, count=1)
    head = _LENGTH.sub(rb"\g<1>\g<2>" + b"%d" % len(body), head)
    return head + separator + body, int(named[1])


def ends_a_call(message: bytes) -> bool:
    """A final answer to a BYE, or one to an INVITE that sets up no call."""
    start = message[:16]
    method = _CSEQ.search(message)
    if not start.startswith(b"SIP/2.0 ") or method is None:
        return False
    status = start[8:11]
    return (method[1] == b"BYE" and status >= b"200") or (method[1] == b"INVITE" and status >= b"300")


class Tap:
    def __init__(self, asterisk: Address, sip_port: int, rtp_ports: range, folder: Path) -> None:
        self._asterisk = asterisk
        self._folder = folder
        self._ports = [port for port in rtp_ports if port % 2 == 0]
        self._next_port = 0
        self._epoll = select.epoll()
        self._sip = _stamped(sip_port)
        self._sip_address: Address = (HOST, sip_port)
        self._epoll.register(self._sip, select.EPOLLIN)
        self._calls: dict[bytes, Tapped] = {}
        self._by_fd: dict[int, Tapped] = {}
        self._ending: list[tuple[float, bytes]] = []
        self._count = 0
        self.stopping = False

    def run(self) -> None:
        while not self.stopping:
            wait_s = self._ending[0][0] - time.monotonic() if self._ending else 0.5
            for fd, _ in self._epoll.poll(min(max(wait_s, 0.0), 0.5)):
                call = self._by_fd.get(fd)
                if call is None:
                    self._pass_sip()
                else:
                    self._pass_media(call)
            while self._ending and self._ending[0][0] <= time.monotonic():
                self._finish(heapq.heappop(self._ending)[1])
        for call_id in tuple(self._calls):
            self._finish(call_id)
        self._sip.close()
        self._epoll.close()

    def _pass_sip(self) -> None:
        for stamp, source, data in _received(self._sip):
            named = _CALL_ID.search(data)
            if named is None:  # a keep-alive
                continue
            call = self._calls.get(named[1])
            if call is None:
                if source == self._asterisk or not data.startswith(b"INVITE "):
                    # late repetitions of a call that is over are passed on and belong to none
                    if source != self._asterisk:
                        _send(self._sip, data, self._asterisk)
                    continue
                call = self._begin(named[1], source)
            self._pass_message(call, named[1], stamp, source, data)

    def _pass_message(self, call: Tapped, call_id: bytes, stamp: int, source: Address, data: bytes) -> None:
        changed, port = with_media_port(data, call.media_address[1])
        if source == self._asterisk:
            if port is not None:
                call.asterisk = (self._asterisk[0], port)
            call.log += record(stamp, self._sip_address, call.sipp, changed)
            _send(self._sip, changed, call.sipp)
        else:
            if port is not None:
                call.caller = (source[0], port)
            call.log += record(stamp, call.sipp, self._sip_address, data)
            _send(self._sip, changed, self._asterisk)
        if ends_a_call(data) and not call.over:
            call.over = True
            heapq.heappush(self._ending, (time.monotonic() + LINGER_S, call_id))

    def _pass_media(self, call: Tapped) -> None:
        for stamp, source, data in _received(call.media):
            if source == call.asterisk:
                if call.caller is None:
                    continue
                call.log += record(stamp, call.media_address, call.caller, data)
                _send(call.media, data, call.caller)
            elif source == call.caller:
                call.log += record(stamp, source, call.media_address, data)
                if call.asterisk is not None:
                    _send(call.media, data, call.asterisk)

    def _begin(self, call_id: bytes, sipp: Address) -> Tapped:
        media = self._open_media()
        self._count += 1
        call = Tapped(self._count, sipp, media, media.getsockname())
        self._calls[call_id] = self._by_fd[media.fileno()] = call
        self._epoll.register(media, select.EPOLLIN)
        return call

    def _open_media(self) -> socket.socket:
        for _ in self._ports:
            port = self._ports[self._next_port % len(self._ports)]
            self._next_port += 1
            try:
                return _stamped(port)
            except OSError:
                continue
        raise SystemExit("the tap has no free port for sound left")

    def _finish(self, call_id: bytes) -> None:
        call = self._calls.pop(call_id)
        self._epoll.unregister(call.media)
        del self._by_fd[call.media.fileno()]
        call.media.close()
        partial = self._folder / f"{call.number}.partial"
        partial.write_bytes(call.log)
        partial.rename(self._folder / f"{call.number}.pcap")


def _stamped(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.bind((HOST, port))
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
    sock.setsockopt(socket.SOL_SOCKET, _TIMESTAMPNS, 1)
    return sock


def _received(sock: socket.socket) -> list[tuple[int, Address, bytes]]:
    """What waits there, each with the kernel's stamp in ns of the wall clock."""
    found = []
    for _ in range(_AT_ONCE):
        try:
            data, ancillary, _, source = sock.recvmsg(_DATAGRAM_BYTES, _ANCILLARY)
        except BlockingIOError:
            break
        except OSError:  # an ICMP error for something sent earlier
            continue
        stamp = time.time_ns()
        for level, kind, value in ancillary:
            if level == socket.SOL_SOCKET and kind == _TIMESTAMPNS:
                seconds, nanoseconds = _TIMESPEC.unpack(value)
                stamp = seconds * 1_000_000_000 + nanoseconds
        found.append((stamp, source, data))
    return found


def _send(sock: socket.socket, data: bytes, target: Address) -> None:
    try:
        sock.sendto(data, target)
    except OSError:
        # the other end is gone: on a network the packet would be lost as well
        return


def main() -> int:
    asterisk, sip_port, first, last, folder = sys.argv[1:]
    host, _, port = asterisk.rpartition(":")
    tap = Tap((host, int(port)), int(sip_port), range(int(first), int(last) + 1), Path(folder))

    def stop(*_: object) -> None:
        tap.stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("ready", flush=True)
    tap.run()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
