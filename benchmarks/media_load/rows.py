"""The figures of `benchmarks.media`: one row for each measurement, its cells, and the RESULT line. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.verdict import cheapest

OURS = "voicebot"
RESULT_CALLS = 200
# a sender later than this makes gaps of its own
_SENDER_LATE_MS = 5.0
# to have carried its calls, a subject has heard at the end so much of what the callers sent, and sent so much of what
# was due, and spoken for so much of the time (it means to for 40 %)
_HEARD = 0.99
_SPOKEN = 0.2

HEADER = (
    "subject",
    "processes",
    "calls",
    "core % in all",
    "core % a call",
    "MiB a call",
    "gap p50",
    "gap p99",
    "gap max",
    "lost out",
    "lost in",
    "underruns",
    "utterances a call and minute",
    "bot speaks",
    "callers late p99 / max",
    "note",
)


@dataclass(frozen=True)
class Cost:
    """What a subject's processes needed beyond what they need for no calls: cores (1.0 is one of them), memory."""

    cores: float
    mib: float


@dataclass(frozen=True)
class Row:
    """None is what is not known: a peer tells less, and over TCP no packet is lost. Gaps and lateness in ms."""

    subject: str
    processes: int
    calls: int
    core_pct: float
    core_pct_per_call: float
    rss_mib_per_call: float
    gap_ms: dict[str, float] | None
    lost_out: int | None
    lost_in: int | None
    underruns: int | None
    utterances_per_call_min: float | None
    speaking: float
    sender_late_ms: dict[str, float]
    carried: bool
    note: str

    @property
    def lost(self) -> int | None:
        """Packets of both ways; None unless both are known."""
        return None if self.lost_out is None or self.lost_in is None else self.lost_out + self.lost_in


def row(
    name: str,
    calls: int,
    length_s: float,
    sent: Mapping[str, Any],
    said: Sequence[Mapping[str, Any]],
    cost: Cost,
) -> Row:
    """One measurement: what the callers say at its end, what each process of the subject says, and what they cost."""
    heard, utterances = _sum(said, "heard"), _sum(said, "utterances")
    carried = _carried(sent, heard)
    return Row(
        subject=name,
        processes=len(said),
        calls=calls,
        core_pct=100 * cost.cores,
        core_pct_per_call=100 * cost.cores / calls,
        rss_mib_per_call=cost.mib / calls,
        gap_ms=sent["gap_ms"],
        # of a call that was never heard nobody knows what was sent
        lost_out=None if sent["mute"] else sent["missing"],
        lost_in=None if heard is None else sent["sent"] - heard,
        underruns=_sum(said, "underruns"),
        utterances_per_call_min=None if utterances is None else utterances / calls / length_s * 60,
        speaking=sent["spoken"] / sent["sent"],
        sender_late_ms=sent["late_ms"],
        carried=carried,
        note="; ".join(_notes(sent, said, carried)),
    )


def _sum(said: Sequence[Mapping[str, Any]], key: str) -> int | None:
    """None if one process does not know."""
    values = [one.get(key) for one in said]
    return None if None in values else sum(value for value in values if value is not None)


def _carried(sent: Mapping[str, Any], heard: int | None) -> bool:
    if sent.get("broken") or sent["spoken"] < _SPOKEN * sent["sent"]:
        return False
    if (sent["missing"] or 0) > (1 - _HEARD) * sent["sent"]:
        return False
    return heard is None or heard >= _HEARD * sent["sent"]


def _notes(sent: Mapping[str, Any], said: Sequence[Mapping[str, Any]], carried: bool) -> list[str]:
    notes = sorted({one["note"] for one in said if one.get("note")})
    if sent["late_ms"]["p99"] > _SENDER_LATE_MS:
        notes.append("the callers were late themselves: read gaps and CPU as upper bounds")
    if sent["mute"]:
        notes.append(f"{sent['mute']} calls never spoke")
    if not carried:
        notes.append("more than it could carry")
    if sent.get("broken"):
        notes.append(f"{sent['broken']} calls were cut")
    return notes


def cells(row: Row) -> tuple[object, ...]:
    """Of the table, as in HEADER."""
    return (
        row.subject,
        row.processes,
        row.calls,
        f"{row.core_pct:.1f}",
        f"{row.core_pct_per_call:.2f}",
        f"{row.rss_mib_per_call:.2f}",
        *(f"{row.gap_ms[key]:.1f}" if row.gap_ms else "-" for key in ("p50", "p99", "max")),
        _known(row.lost_out),
        _known(row.lost_in),
        _known(row.underruns),
        "-" if row.utterances_per_call_min is None else f"{row.utterances_per_call_min:.1f}",
        f"{row.speaking:.0%}",
        f"{row.sender_late_ms['p99']:.1f} / {row.sender_late_ms['max']:.1f}",
        row.note,
    )


def cells_of_missing(name: str, why: str) -> tuple[object, ...]:
    return (name, *["-"] * (len(HEADER) - 2), why)


def _known(value: object) -> object:
    return "-" if value is None else value


def result(rows: Sequence[Row]) -> dict[str, object]:
    """The RESULT line: of our one process with 200 calls, or the number nearest to that; "-" is what is not known.

    Its peer is the cheapest one, at as many calls or the most it carried. Where more processes were measured with as
    many calls, so is what the most of them cost.
    """
    ours = [one for one in rows if one.subject == OURS]
    chosen = min(ours or rows, key=lambda one: (one.processes, abs(one.calls - RESULT_CALLS), one.calls))
    costs: dict[str, dict[int, float]] = {}
    for one in rows:
        if one.subject != OURS and one.carried and one.calls <= chosen.calls:
            costs.setdefault(one.subject, {})[one.calls] = one.core_pct_per_call
    peer = cheapest(costs)
    found: dict[str, object] = {
        "calls": chosen.calls,
        "core_pct_per_call": round(chosen.core_pct_per_call, 3),
        "gap_p50_ms": chosen.gap_ms["p50"] if chosen.gap_ms else "-",
        "gap_p99_ms": chosen.gap_ms["p99"] if chosen.gap_ms else "-",
        "lost": _known(chosen.lost),
        "underruns": _known(chosen.underruns),
        "peer": peer[0] if peer else "-",
        "peer_core_pct_per_call": round(peer[1], 3) if peer else "-",
    }
    shared = [one for one in ours if one.calls == chosen.calls and one.processes > chosen.processes]
    if shared:
        most = max(shared, key=lambda one: one.processes)
        found |= {
            "processes": most.processes,
            "processes_core_pct_per_call": round(most.core_pct_per_call, 3),
            "processes_gap_p99_ms": most.gap_ms["p99"] if most.gap_ms else "-",
        }
    return found
