"""Clauses of which only the beginning is there: a subject without its verb, a noun whose verb is another's, a "that".

The constructions are those of any English clause; which verb it was does not matter. Lower-case words joined by single
blanks, without punctuation. Pure.
"""

import re
from typing import Final

from media_bridge import turn_end_words as words
from media_bridge.turn_end_questions import LEAD, lets_object_go

_POSSESSIVE: Final = r"(?:my|your|our|his|her|their|its)"
_PERSON: Final = r"(?:me|us|him|her|them|you)"
# "I think the blue one" is an answer
_ALONE: Final = frozenset("one ones same other others opposite latter former".split())
_ENDS_NO_NOUN: Final = frozenset(
    "too again instead now either already there here please today tomorrow".split()
)
# finite forms, and what can only belong to one
_FINITE: Final = re.compile(
    r"(?:is|are|was|were|am|have|has|had|do|does|did|can|could|will|would|should|must|may|might|cannot|\w+n't"
    r"|\w+'(?:s|re|ll|ve|d|m)|need|needs|want|wants|like|likes|know|think|get|gets|got|live|lives|work|works|cost"
    r"|costs|make|makes|made|go|goes|went|say|says|said|tell|tells|told|give|gives|gave|take|takes|took|see|saw"
    r"|find|found|come|comes|came|keep|keeps|kept|lost|forgot|bought|sent|paid|broke|fell|felt|ran|left|rang"
    r"|meant|thought|knew|met|cut|hit|wrote|drove|began|brought|caught|held|sold|spoke|stood|stole|threw|woke"
    r"|wore|won|ate|drank|flew|chose|lent|built|hurt|hurts|let|put|quit|read|set|sat|slept|swam|sang|shut|stuck"
    r"|swore|taught|tore|understood|spent|lay|lit|grew|blew|froze|hung|rose|shook|sank|split|burst|bit|fits"
    r"|starts|stops|leaks|looks|seems|sounds|smells|helps|opens|closes|arrives|leaves|runs|happens|means|matters"
    r"|applies|includes|covers|changes|expires|ends|begins|shows|belongs|depends|stinks|rattles|squeaks|blinks"
    r"|turns|feels|tastes|contains|charges|sells|pays|comes|lasts|stays|fails|lacks|weighs|\w{2,}ed)"
)
_AUXILIARY: Final = re.compile(
    r"is|are|was|were|am|have|has|had|do|does|did|can|could|will|would|should|must|may|might|cannot|\w+n't|get"
    r"|got|gets"
)
# forms that follow "to", and such that follow no auxiliary
_BASE: Final = frozenset(
    "have do know think get live work cost make go say tell give take see find come keep cut hit let put quit read set"
    " shut hurt burst split need want like".split()
)
_THIRD_PERSON: Final = re.compile(r"(?!is$|was$|has$|does$|its$)\w{2,}[^s]s")
_NOUNS_IN_ED: Final = frozenset("bed need shed seed feed speed red hundred weed breed wed med ped".split())
_CONTINUES_VERB: Final = frozenset(
    "not never always just already ever still also been be being to really only even probably usually get got".split()
)

# told in full: "He told me the price"
_TOLD: Final = (
    r"(?:price|prices|name|number|address|truth|time|times|reason|story|date|amount|balance|code|details|results?"
    r"|total|cost|costs|way|answer|rules|password|pin|size|problem|news|hours|difference|rest|story|score|value"
    r"|weight|address)"
)
# "if my order", "I hope the bike", "She told me my parcel": a subject, and that is all
_SUBJECT_ONLY: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?:if|whether|hope|hoping|assume|assuming|wish) (?:that )?(?:the|a|an"
        rf"|{_POSSESSIVE}) (?P<noun>(?:\w+ ){{0,2}}\w+)$",
        r"\b(?:think|believe|guess|suppose|thought|heard|afraid|sure|because|although|though|unless|since) (?:that )?"
        rf"{_POSSESSIVE} (?P<noun>(?:\w+ )?\w+)$",
        rf"\b(?:said|says|(?:told|telling) {_PERSON}) (?:that )?(?:the"
        rf"|{_POSSESSIVE}) (?P<noun>(?:\w+ )?(?!{_TOLD}$)\w+)$",
    )
)  # fmt: skip
# a second clause of which there is its subject: "I bought it last week and it"
_SECOND_SUBJECT: Final = re.compile(
    r"(?:^|.* )(?:and|but|so)(?: (?:then|now|maybe|actually|today|yesterday|of course))? (?:it|you|there|now it"
    r"|then it)$"
)
_RETURNED: Final = re.compile(
    r"\b(?:fine|good|well|great|thanks|thank you|okay|ok|bad|hello|hi|me|him|her|us|them) (?:and|but) you$"
    r"|^and you$"
)
# "a light that", "someone that", "it turns out that"
_ANTECEDENT: Final = re.compile(
    r"\b(?:a|an|the|some|any|another|every|my|one|two|is there|only|last|first)(?: (?:new|old|big|small|strange"
    r"|red|other|loud|funny|(?:lat|small|bigg|cheap|fast|larg|long|short|old|new|earli|bett|quick|clos|high|low"
    r"|light|warm|saf|easi)er))? (?P<noun>\w+) that$|\b(?:one|ones|someone|somebody|anyone|anybody|anything"
    r"|something|everything|nothing|everyone|people|those|person|things?|stuff) that$|\b(?:i'm|i am|we're|we are"
    r"|i was|we were|i wasn't|we weren't|i'm not|wasn't|weren't|aren't|isn't|he's|she's|they're|it's)(?: (?:a bit"
    r"|a little|very|so|really|quite|not|just|too))? (?:\w+(?:ried|ised|ized|sed|med|ted|ned)|glad|happy|sad"
    r"|angry|aware|certain|sorry|confident|upset|grateful|unhappy|great|good|strange|odd|weird|possible"
    r"|important) that$|\b(?:turns out|turned out|seems|appears|means|happens|meaning|so it seems) that$"
)
_NOT_ANTECEDENTS: Final = (
    frozenset(
        "do does did done doing like about after before than or and but until since except see saw know knew"
        " need want bit lot fix check change cancel all not call time guy problem"
        .split()
    )
    | words.PREPOSITIONS
) - {"called"}  # fmt: skip
# the first words of a relative clause behind the noun that a sentence begins with
_PRONOUN: Final = r"(?:i|you|we|they|he|she|it)"
_RELATIVE_HEAD: Final = re.compile(
    LEAD + rf"(?:because )?(?:(?:the|my|your|our|that|those|these|his|her|their)(?: (?!{_PRONOUN} "
    rf"|ones? )[\w']+){{1,4}}?|an? (?:friend|guy|man|woman|person|colleague|lady|neighbou?r|relative|member"
    r"|customer)(?: of \w+)?)"
    rf"(?<!\band)(?<!\bor)(?<!\bbut)(?<!\bso)(?<!\bif)(?<!\bwhen)(?<!\bbecause)(?<!\bfor)(?<!\bof)(?<!\bto)(?<!\bas)(?<!\bthan)"
    rf" (?:(?:that|which|who|where) (?:(?:{_PRONOUN}|(?:my|our|your|the) \w+) )?|(?:i|you|we) )(?P<clause>[\w' ]+)$"
)
# "the number you", "the form that you": not even the clause's verb
_RELATIVE_SUBJECT: Final = re.compile(
    r"\b(?:the|any|my) (?!(?:rest|two|three|both) )(?!\w+ing )\w+ you$|(?<!is )(?<!was )(?<!not )\bthat (?:you|it)$"
)

# what is asked for, of which there is only the question word and its noun: "Do you know what time"
_WH_PHRASE: Final = re.compile(
    rf"\b(?:know|tell {_PERSON}|say|sure|ask|asked|see|check|find out|wonder|wondering|remember|forgot|idea"
    rf"|explain|decide|show {_PERSON}|told {_PERSON})(?: (?:exactly|about|of))? (?:how (?:much|many|long|far|soon"
    r"|often|big|old|late|early|large|high|fast|quickly)|(?:which|whose)(?: kind of| type of| sort of)? (?!one$"
    r"|ones$|way$|is$|are$|was$|it$|that$)\w+|what (?:(?:kind|type|sort) of \w+|kind|type|sort|(?!kind |else"
    r"|exactly|for|happen|it|that|this|is|was|are|were|to|about|went|came|broke|works|means|helps|fits|causes"
    r"|matters|comes|needs|did|does|if|i|you|we|they|he|she|a|the|now|next|on|in|up|could|should|would|will|can"
    r"|might)\w+(?<!ed)))$"
)
_WISHED_NUMBER: Final = re.compile(
    r"\b(?:to|can i|could i|can we|could we|may i|may we) (?:also |please )?(?:order|book|buy|get|have|rent"
    r"|reserve|bring|take|add|see|try|return|make|cancel|invite|send|hire|need) (?:two|three|four|five|six|seven"
    r"|eight|nine|ten|a dozen|a couple|another|\d+)$"
)
_SIZED: Final = re.compile(
    r"(?<=\w )(?<!it )(?<!that )(?:a|an|another|two|three) (?:(?:extra )?(?:large|small|medium)|double|single"
    r"|twin|monthly|weekly|yearly|daily|annual)$"
)


def lacks_verb(spoken: str) -> bool:
    """A subject, and nothing that is said of it yet."""
    if any(_is_noun(found["noun"]) for pattern in _SUBJECT_ONLY if (found := pattern.search(spoken))):
        return True
    if _SECOND_SUBJECT.match(spoken) and spoken.count(" ") > 2 and not _RETURNED.search(spoken):
        return True
    if _RELATIVE_SUBJECT.search(spoken):
        return True
    antecedent = _ANTECEDENT.search(spoken)
    return antecedent is not None and (antecedent["noun"] or "") not in _NOT_ANTECEDENTS


def lacks_main_verb(spoken: str) -> bool:
    """ "The bike I bought last year": the only verb is the relative clause's."""
    found = _RELATIVE_HEAD.match(spoken)
    if not found or any(map(_is_verb, spoken[: found.start("clause")].split()[1:])):
        return False
    return _finite_verbs(found["clause"]) <= 1


def lacks_rest(spoken: str) -> bool:
    """ "Do you know what time", "I'd like to book two", "I want a large"."""
    return any(pattern.search(spoken) for pattern in (_WH_PHRASE, _WISHED_NUMBER, _SIZED))


def is_half_said(spoken: str) -> bool:
    """By the phrases of `turn_end_words`: "he said", "I think", "to fly from Denver"."""
    if words.SUBJECT_ALONE.match(spoken) and not words.INVERTED.search(spoken):
        return True
    if any(pattern.search(spoken) for pattern in (words.SAID, words.NEEDS_OBJECT, words.LIKE)):
        return not (words.RELATIVE.search(spoken) or lets_object_go(spoken))
    if words.THAT_CLAUSE.search(spoken):
        return not words.WH_START.match(spoken)
    patterns = (
        words.CONTRACTIONS,
        words.THEN,
        words.WHEN,
        words.ANY,
        words.THINKING,
        words.IS_TO_COME,
        words.KNOW_WHAT,
        words.BEFORE,
        words.MID_STREET,
        words.SOMETHING,
        words.WHETHER_MISHEARD,
        words.MISHEARD_TO,
        words.TO_ASK,
    )
    return any(pattern.search(spoken) for pattern in patterns) or _open_route(spoken)


def _open_route(spoken: str) -> bool:
    """ "I want to go from Denver": the other end is still to come."""
    found = words.ROUTE.search(spoken)
    return bool(found) and not re.search(
        r"\bto (?!go\b|fly\b|travel\b|drive\b|get\b|book\b|take\b|buy\b)", spoken
    )


def _is_noun(phrase: str) -> bool:
    """No verb in it; what ends in "s" behind another word may be one ("the doctor understands")."""
    every = phrase.split()
    if len(every) > 1 and (every[-1].endswith("s") or every[-1] in _ENDS_NO_NOUN):
        return False
    return every[-1] not in _ALONE and not any(map(_is_verb, every))


def _is_verb(word: str) -> bool:
    return bool(_FINITE.fullmatch(word)) and word not in _NOUNS_IN_ED


def _finite_verbs(clause: str) -> int:
    """ "was not working" is one, "ordered has not arrived" two."""
    count = 0
    inside = ""  # of a verb with its auxiliaries: which of them was the last
    for word in clause.split():
        if word == "to" and inside:
            inside = "to"
        elif _is_verb(word):
            one = {"auxiliary": not _THIRD_PERSON.fullmatch(word), "to": word in _BASE}
            count += not one.get(inside, False)
            inside = "auxiliary" if _AUXILIARY.fullmatch(word) else "verb"
        elif word not in _CONTINUES_VERB:
            inside = ""
    return count
