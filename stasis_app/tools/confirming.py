"""Whether the caller has said yes to being put through. Decided here, never by the model. Pure."""

from typing import Final

from stasis_app.expecting import asked_for, is_english, last_sentence
from stasis_app.history import CUT_MARK
from stasis_app.intents import words
from stasis_app.tools.settings import Transfer

_YES: Final = {
    "en": "yes yeah yep yup sure ok okay certainly definitely absolutely",
    "de": "ja jawohl gerne gern ok okay klar natürlich sicher",
    "fr": "oui ouais ok okay volontiers certainement",
    "es": "sí si vale claro ok okay bueno",
    "it": "sì si certo va ok okay volentieri",
    "nl": "ja graag ok okay zeker prima",
    "pt": "sim claro ok okay",
    "pl": "tak ok okay jasne oczywiście",
    "sv": "ja jo gärna ok okay visst",
    "da": "ja gerne ok okay",
}
_COMPANY: Final = {
    "en": "please do that would be great good fine nice lovely perfect right correct exactly of course go ahead thank"
    " thanks you it's is it's all um uh oh well very much",
    "de": "bitte sehr danke das wäre gut schön nett äh ach machen sie",
    "fr": "s'il vous plaît merci bien sûr je veux euh d'accord",
    "es": "por favor gracias está bien supuesto eh",
    "it": "per favore grazie bene eh",
    "nl": "alstublieft dank u wel dat is goed eh",
    "pt": "por favor obrigado obrigada está bem",
    "pl": "proszę dziękuję bardzo dobrze",
    "sv": "tack det vore bra",
    "da": "tak det ville være godt",
}
_ARTICLES: Final = frozenset({"the", "a", "an", "our"})
_CONNECTS: Final = frozenset({"connect", "transfer", "through", "forward"})


def confirmed(transfer: Transfer, last_answer: str, said: str, language: str | None) -> str | None:
    """The target that the bot has asked about, to which `said` is a plain yes; None: there is none.

    `last_answer` is what the caller heard last. A question cut short counts once all its words were heard.
    """
    if not is_yes(said, language):
        return None
    heard = last_answer.removesuffix(CUT_MARK)
    return next((name for name in transfer.targets if asks_about(transfer, name, heard, language)), None)


def asks_about(transfer: Transfer, target: str, heard: str, language: str | None) -> bool:
    """True when `heard` ends in the question about this target: the profile's own, or (in English) one in the model's
    words that names the target and speaks of connecting.
    """
    asked = words(transfer.asks(target))
    if words(heard)[-len(asked) :] == asked:
        return True
    if not is_english(language):
        return False
    last = last_sentence(heard)
    expected = asked_for(last)
    named = [word for word in words(transfer.spoken(target)) if word not in _ARTICLES]
    spoken = words(last)
    names_it = any(spoken[at : at + len(named)] == named for at in range(len(spoken)))
    yes_no = last.endswith("?") and expected is not None and expected.kind == "yes_no"
    return yes_no and names_it and not _CONNECTS.isdisjoint(spoken)


def is_yes(said: str, language: str | None) -> bool:
    """A yes and nothing else: "yes, but first ..." is none, and neither is a question."""
    tongue = "en" if is_english(language) else str(language).lower()[:2]
    yes = set(_YES.get(tongue, _YES["en"]).split())
    company = set(_COMPANY.get(tongue, "").split())
    spoken = words(said)
    agreed = not yes.isdisjoint(spoken) or said.lower().strip(" .!,") in (
        "please do",
        "of course",
        "go ahead",
    )
    return "?" not in said and agreed and all(word in yes | company for word in spoken)
