"""The capacity card: what the callers of each step had, what it cost, and what went wrong. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.load_kit.parts import Spent
from benchmarks.load_kit.ruler import CallFigures, Outcome, Utterance
from benchmarks.quantile import quantile

# so much of the machine used by what is none of ours makes a row worth little
NOISY_SHARE = 0.10

HEARD = (
    "calls", "refused", "after p95", "lost", "set-up p95", "greeting p95", "questions", "missing", "early",
    "response p50", "p95", "p99", "cut p50", "cut p95", "gap p99", "gap max", "packets lost",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """`calls` at a time where there are `places` for them. `spent` is of the time in which all of them talked.

    `apologies`: answers that failed and became one, by the bot's own count.
    """

    calls: int
    places: int
    figures: Sequence[CallFigures]
    spent: Spent
    patience_s: float
    apologies: int

    @property
    def label(self) -> str:
        beyond = f" ({self.places} places)" if self.calls > self.places else ""
        noisy = " *" if self.spent.others > NOISY_SHARE * self.spent.machine else ""
        return f"{self.calls}{beyond}{noisy}"

    @property
    def utterances(self) -> list[Utterance]:
        return [one for call in self.figures for one in call.utterances]

    @property
    def responses(self) -> list[float]:
        """Infinity for an answer that never came; early ones are counted, and stand in no percentile."""
        waits = (one.response(self.patience_s) for one in self.utterances)
        return [wait for wait in waits if wait is not None]

    @property
    def cuts(self) -> list[float]:
        return [one.cut_ms for one in self.utterances if one.cut_ms is not None]

    @property
    def gap_p99_ms(self) -> float | None:
        return quantile([gap for call in self.talked for gap in call.gaps_ms], 99)

    @property
    def talked(self) -> list[CallFigures]:
        """Calls that the bot had."""
        return [call for call in self.figures if call.outcome is not Outcome.REFUSED]

    @property
    def refused(self) -> list[CallFigures]:
        """Calls that the dialplan took back."""
        return [call for call in self.figures if call.outcome is Outcome.REFUSED]

    @property
    def answered(self) -> Counter[bool | None]:
        return Counter(one.answered(self.patience_s) for one in self.utterances)

    @property
    def lost(self) -> int:
        """Calls that failed; of those that were made and left no trace on the wire, too."""
        lost = sum(call.outcome is Outcome.LOST for call in self.figures)
        return lost + self.calls - len(self.figures)

    @property
    def refused_wrongly(self) -> int:
        """Callers who were refused though there was a place, or taken though there was none."""
        return abs(len(self.refused) - max(0, self.calls - self.places))


def heard_row(step: Step) -> tuple[object, ...]:
    """The cells of HEARD; times in ms."""
    gaps = [gap for call in step.talked for gap in call.gaps_ms]
    answered = step.answered
    return (
        step.label,
        len(step.refused),
        whole(quantile([call.setup_ms or 0.0 for call in step.refused], 95)),
        step.lost,
        whole(quantile([call.setup_ms for call in step.talked if call.setup_ms is not None], 95)),
        whole(quantile([call.greeting_ms for call in step.talked if call.greeting_ms is not None], 95)),
        answered[True] + answered[False],
        answered[False],
        sum(one.early for one in step.utterances),
        *(whole(quantile(step.responses, percent)) for percent in (50, 95, 99)),
        *(whole(quantile(step.cuts, percent)) for percent in (50, 95)),
        tenth(quantile(gaps, 99)),
        whole(max(gaps, default=None)),
        sum(call.packets.missing for call in step.talked),
    )


def cost_table(steps: Sequence[Step]) -> tuple[list[str], list[tuple[object, ...]]]:
    """Header and rows: percent of one core and MiB for each part, and how much of the machine was in use."""
    names = list(dict.fromkeys(name for step in steps for name in step.spent.cores))
    header = ["calls", *(f"{name} % / MiB" for name in names), "all else %", "machine in use"]
    rows: list[tuple[object, ...]] = []
    for step in steps:
        spent = step.spent
        used = sum(spent.cores.values()) + spent.others
        cells = [
            f"{100 * spent.cores[name]:.0f} / {spent.mib[name]:.0f}" if name in spent.cores else "-"
            for name in names
        ]
        rows.append((step.label, *cells, f"{100 * spent.others:.0f}", f"{used / spent.machine:.0%}"))
    return header, rows


def wire_note(steps: Sequence[Step]) -> str:
    """How steadily the callers themselves sent: it bounds what the figures can tell."""
    late = [
        f"{step.label}: {tenth(quantile([gap for call in step.talked for gap in call.caller_gaps_ms], 99))}"
        for step in steps
    ]
    return "Gaps p99 of what the callers sent, ms: " + ", ".join(late) + "."


def result(steps: Sequence[Step], leaked: int) -> dict[str, object]:
    """The RESULT line. The gap is the worst of the steps that had a place for everybody."""
    by_calls = {step.calls: step for step in steps if step.calls <= step.places}
    asked = {1, 32, max(by_calls, default=1)}
    p95 = {
        f"response_p95_ms_{calls}": whole(quantile(by_calls[calls].responses, 95))
        if calls in by_calls
        else "-"
        for calls in sorted(asked)
    }
    gaps = [gap for step in by_calls.values() if (gap := step.gap_p99_ms) is not None]
    return {
        "calls": sum(step.calls for step in steps),
        "failed": sum(step.lost + step.refused_wrongly for step in steps),
        **p95,
        "gap_p99_ms": tenth(max(gaps, default=None)),
        "leaked": leaked,
    }


def faults(steps: Sequence[Step], left: Mapping[str, int]) -> list[str]:
    """What no load may do: calls lost or refused beside the limit, answers that never came, things left behind."""
    found = []
    for step in steps:
        reasons = Counter(call.why for call in step.figures if call.outcome is Outcome.LOST)
        told = "; ".join(f"{why} ({count})" for why, count in reasons.items())
        if step.lost:
            found.append(f"{step.calls} calls: {step.lost} lost{f': {told}' if told else ''}")
        if step.refused_wrongly:
            found.append(f"{step.calls} calls, {step.places} places: {len(step.refused)} were refused")
        if missing := step.answered[False]:
            found.append(f"{step.calls} calls: {missing} questions were never answered")
        if step.apologies:
            found.append(f"{step.calls} calls: {step.apologies} answers were apologies")
        mute = sum(call.greeting_ms is None for call in step.talked)
        if mute:
            found.append(f"{step.calls} calls: {mute} heard no greeting")
    return found + [f"left behind: {count} {what}" for what, count in left.items() if count]


def whole(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def tenth(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
