"""Whether the caller has said yes to being put through. Decided here, never by the model. Pure."""

from typing import Final

from media_bridge.yes_and_no import OKAY, YES_AND_NO
from stasis_app.expecting import asked_for, last_sentence
from stasis_app.history import CUT_MARK
from stasis_app.intents import words
from stasis_app.short_words import language_code
from stasis_app.tools.settings import Transfer

# no words that make a sentence of its own out of an "Okay": "Okay, that is all, thank you." is no yes
_COMPANY: Final = {
    "en": "please do that would be great good fine nice lovely perfect right correct exactly of course go ahead thank"
    " thanks you um uh oh well very much i i'd would like sounds",
    "de": "bitte sehr danke das wäre gut schön nett äh ach machen sie",
    "fr": "s'il vous plaît merci bien sûr je veux euh d'accord",
    "es": "por favor gracias bien bueno supuesto eh",
    "it": "per favore grazie bene eh",
    "nl": "alstublieft dank u wel goed eh",
    "pt": "por favor obrigado obrigada bem",
    "pl": "proszę dziękuję bardzo dobrze",
    "sv": "tack det vore bra",
    "da": "tak det ville være godt",
}
# several words that are a yes together, or ask for the very thing; none that may end the matter ("está bien, gracias")
_PHRASES: Final = {
    "en": "please do,of course,go ahead,put me through,connect me,transfer me,do it,by all means",
    "de": "auf jeden fall,selbstverständlich,einverstanden,sehr gern,sehr gerne,machen sie das,machen sie,"
    "verbinden sie mich,stellen sie mich durch",
    "fr": "d'accord,bien sûr,tout à fait,bien entendu,avec plaisir,allez-y,je veux bien,ça me va,passez-le-moi,"
    "mettez-moi en relation",
    "es": "por supuesto,claro que sí,de acuerdo,desde luego,cómo no,adelante,me parece bien,con gusto,"
    "páseme,páselo,comuníqueme",
    "it": "d'accordo,va bene,certo che sì,con piacere,certamente,mi passi",
    "nl": "natuurlijk,doe maar,verbind me door,verbindt u me maar door",
    "pt": "com certeza,claro que sim,pode ser,de acordo,pode passar",
    "pl": "zgoda,proszę bardzo,proszę przełączyć",
    "sv": "självklart,absolut",
    "da": "selvfølgelig,meget gerne",
}
_ARTICLES: Final = frozenset({"the", "a", "an", "our"})
_CONNECTS: Final = frozenset({"connect", "transfer", "through", "forward"})


def confirmed(transfer: Transfer, last_answer: str, said: str, language: str | None) -> str | None:
    """The target that the bot has asked about, to which `said` is a plain yes; None: there is none.

    `last_answer` is what the caller heard last. A question cut short counts once all its words were heard.
    """
    if not is_yes(said, language):
        return None
    return asked_about(transfer, last_answer.removesuffix(CUT_MARK), language)


def asked_about(transfer: Transfer, heard: str, language: str | None) -> str | None:
    """The one target that the end of `heard` asks about: in the profile's words, or (in English) in the model's own if
    they name the target and speak of connecting. None: no question, or it may be about several.
    """
    spoken = words(heard)
    exact = [name for name in transfer.targets if _ends_with(spoken, words(transfer.asks(name)))]
    if exact or _code(language) != "en":
        return exact[0] if len(exact) == 1 else None
    last = last_sentence(heard, "en")
    expected = asked_for(last)
    yes_no = last.endswith("?") and expected is not None and expected.kind == "yes_no"
    if not yes_no or _CONNECTS.isdisjoint(words(last)):
        return None
    named = [name for name in transfer.targets if _names(words(last), transfer.spoken(name))]
    return named[0] if len(named) == 1 else None


def _ends_with(spoken: list[str], end: list[str]) -> bool:
    return bool(end) and spoken[-len(end) :] == end


def _names(spoken: list[str], target: str) -> bool:
    named = [word for word in words(target) if word not in _ARTICLES]
    return bool(named) and any(spoken[at : at + len(named)] == named for at in range(len(spoken)))


def is_yes(said: str, language: str | None) -> bool:
    """A yes and nothing else: "yes, but first ..." is none, and neither is a question."""
    code = _code(language)
    yes = YES_AND_NO.get(code, YES_AND_NO["en"]).plain | OKAY
    company = set(_COMPANY.get(code, "").split())
    spoken = words(said)
    rest = _without(spoken, [phrase.split() for phrase in _PHRASES.get(code, "").split(",") if phrase])
    agreed = len(rest) < len(spoken) or not yes.isdisjoint(rest)
    return "?" not in said and agreed and all(word in yes | company for word in rest)


def _without(spoken: list[str], phrases: list[list[str]]) -> list[str]:
    """What is left of `spoken` when each of the phrases, the longest first, is taken out."""
    for phrase in sorted(phrases, key=len, reverse=True):
        at = next((at for at in range(len(spoken)) if spoken[at : at + len(phrase)] == phrase), None)
        if at is not None:
            spoken = [*spoken[:at], *spoken[at + len(phrase) :]]
    return spoken


def _code(language: str | None) -> str:
    """A language that is not given is English."""
    return language_code(language) or "en"
