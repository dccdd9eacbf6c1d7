"""What a turn of the bot is remembered as where a sentence of it had no voice. Pure."""

from collections.abc import Container, Sequence
from dataclasses import replace

from media_bridge.heard import Heard, HeardSentence, heard_text

GAP = "..."
"""Stands in the history for a sentence that the caller never heard: the same dots that end a cut answer, which small
models take as they are meant. The words themselves would be taken for known."""


def with_gaps(heard: Heard, broken: Container[str] = ()) -> tuple[str, bool]:
    """The words the caller has heard, dots for all that is missing between them, and whether the end is missing.

    `broken`: sentences whose sound broke off. How long they would have been is not known.
    """
    text, cut = heard_text(heard)
    if not text:
        return text, cut
    stretches: list[list[HeardSentence]] = [[]]
    for sentence in heard.sentences:
        if _is_unspoken(sentence):
            stretches.append([])
        elif sentence.text in broken:
            stretches[-1].append(replace(sentence, total_samples=None))
            stretches.append([])
        else:
            stretches[-1].append(sentence)
    said = [heard_text(replace(heard, sentences=tuple(stretch)))[0] for stretch in stretches]
    while said and not said[-1]:
        said.pop()
        cut = True
    return f" {GAP} ".join(filter(None, said)), cut


def left_out(heard: Heard) -> Sequence[str]:
    """The sentences that the voice did not speak."""
    return [sentence.text for sentence in heard.sentences if _is_unspoken(sentence)]


def _is_unspoken(sentence: HeardSentence) -> bool:
    # a filler has sound and no text
    return sentence.total_samples == 0 and bool(sentence.text)
