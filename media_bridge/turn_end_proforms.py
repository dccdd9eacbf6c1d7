"""What is whole though its last word is one that hardly ever is: words that stand for what was said before.

"I hope so", "I'd love to", "Please do", "The light is on", "See you then", "I want both": the rest is in the sentence
before, so nothing follows. Lower-case words joined by single blanks, without punctuation. Pure.
"""

import re
from typing import Final

from media_bridge.turn_end_expected import Expected
from media_bridge.turn_end_questions import LEAD, is_question_word_alone
from media_bridge.turn_end_waits import Ending
from media_bridge.turn_end_words import QUESTION

_SUBJECT: Final = r"(?:i|you|we|they|he|she|it|that|this|there)"
_PEOPLE: Final = (
    r"(?:i|you|we|they|he|she|somebody|someone|nobody|anybody|anyone|everybody|(?:the|my|your|our|a) \w+)"
)
_STAFF: Final = (
    r"(?:he|she|they|anyone|anybody|someone|somebody|you|the (?:doctor|manager|boss|owner|dentist|nurse|vet"
    r"|teacher|mechanic|head)|(?:mr|mrs|ms|miss|doctor|dr) \w+)"
)
_PERSON: Final = r"(?:me|us|him|her|them|you)"
_ADVERB: Final = (
    r"(?:already|usually|always|never|often|sometimes|normally|certainly|definitely|really|probably|just|also"
    r"|still)"
)
_ASKING: Final = r"(?:ask|know|say|check|find out|mention|hear|confirm)"

# nothing follows
_WHOLE: Final = (
    # so: "I hope so"
    r"\b(?:hope|hoping|believe|suppose|guess|expect|afraid|say|said|says|think|thought|is that|was that|how|why"
    rf"|or|imagine|assume|told {_PERSON}) so$",
    # not: "I guess not", "why not"
    r"\b(?:hope|guess|suppose|afraid|think|believe|why|better|rather) not$",
    r"^(?:\w+ )?(?:probably|maybe|perhaps|certainly|of course|definitely|preferably) not$",
    r"(?<!whether )\bor not$",
    # what was asked: "That's all I wanted to know", "What do you want to know?"
    LEAD + r"(?:that's|that is|that was|this is|is that|it's|was that|it was) (?:all|everything|what"
    rf"|the (?:only )?thing) (?:that )?{_SUBJECT}(?:'d| would| just| really)* (?:want|wanted|need|needed|like|had"
    rf"|have|wish)(?: \w+)? to {_ASKING}$",
    LEAD + r"(?:what|which|who)(?: else)? (?:do|did|would|can|could|should) (?:you|i|we|they)(?: \w+)? (?:want"
    rf"|need|like|have|wish) to {_ASKING}$",
    r"\b(?:not|nothing|nobody|none|no one|never|all)(?: \w+)? that (?:i|we)(?:'m| am| can| could)?"
    r" (?:know|aware|think|heard|remember|say|see|tell)(?: of)?$",
    r"\b(?:know|see|is|was|get|that's|understand) what (?:i|he|she|they|we) (?:mean|meant)$",
    r"\b(?:\w+n't|cannot|not|never|nor|no)\b(?: [\w']+)*"
    r"(?<!\bon)(?<!\bin)(?<!\bfor)(?<!\bof)(?<!\bto)(?<!\bwith)(?<!\bfrom)(?<!\bat) either$",
    LEAD + rf"(?:is|are|was|were|isn't|aren't) (?!they ){_STAFF} in$"
    rf"|\b(?:if|whether|when|unless) (?!they ){_STAFF} (?:is|are|was"
    r"|were|isn't) in$",
    LEAD + r"(?:has|have|had|did) (?:anyone|anybody|someone|somebody|he|she|they|i|you|we) (?:ever "
    r"|already )?called?$",
    r"\b(?:broken|late|closed|wrong|right|fine|again|before|now|already|yesterday|today|it|that|there|out|down"
    rf"|up) (?:like|as) {_SUBJECT} (?:said|told {_PERSON})$",
)  # fmt: skip
# more may follow, and does not have to
_ENOUGH: Final = (
    LEAD + r"(?:what|which) (?:kind|type|sort) of \w+$",
    r"^(?:if|even|quite|not) so$",
    # do: "Please do", "I already did"
    rf"\b(?:{_SUBJECT} {_ADVERB}|please|that'?ll|that will|that would|this will|that should) (?:do|does|did)$",
    LEAD + r"(?:please )?(?:just )?do (?:it|that)$",
    # that: "I didn't know that", "I never said that"
    r"\b(?:never|already|hadn't|haven't|hasn't|wasn't|couldn't|didn't|can't|won't|cannot)(?: \w+)? (?:know|known"
    r"|say|said|hear|heard|notice|noticed|see|seen|saw|read|realize|realise|mean|meant|mention|remember"
    rf"|understand|promise|think of|(?:told|tell|telling) {_PERSON}) that$",
    # told: "I told him", "Nobody told me"
    r"(?:^|\b)(?:i|we|nobody|no one|anybody|anyone|never|already|just|\w+n't|who|you|as \w+|like \w+) (?:have "
    rf"|has |had |ever |already )?(?:told|tell) {_PERSON}$",
    r"^(?:as|like) (?:i|we|you|he|she|they) said$",
    # an adverb that is a preposition elsewhere: "The light is on", "I called before"
    r"\b(?:lights?|heating|power|alarm|engine|tv|television|water|gas|oven|fan|heater|radio|pump|boiler|wi-?fi"
    r"|conditioning) (?:is|was|are|were|isn't|wasn't|aren't|stays?|goes|went|comes|came|keeps?) (?:still |always "
    r"|already |not |back )?on$",
    r"\b(?:still|always|already|not) on$|\b(?:be|is|are|was|it's|they're|come|came|comes|go|goes|went) back on$",
    r"^(?!.*\b(?:know|wonder|wondering|ask|see|check|tell|great|nice|good|appreciate|grateful|helpful|sure"
    r"|say)\b).+ if you (?:can|could|like|want|don't mind|would|wouldn't mind|wish|have (?:one|any|time))$",
    r"^(?!.*\b(?:(?:have|has|had)(?! to\b)|\w+'ve|never|ever)\b).*\b(?:called|asked|tried|came|worked|happened"
    r"|spoke|met|ordered|like|as|than|there|here|did|was|were|day|week|month|year|night|one|time|morning"
    r"|evening) before$",
    LEAD + r"what(?:'s| is| was) on$",
    r"^(?!(?:the|my|what|one) ).*\b(?:something|questions?|things?) (?:i|we) (?:want|wanted|need|have|had"
    rf"|would like|forgot) to {_ASKING}$",
    LEAD + rf"(?:yes |no )?{_PEOPLE} (?:{_ADVERB} |have |has |had )?called$",
    rf"^(?!(?:the|my|our|your) ).*\b(?:i|you|we|they|he|she|who|i've|we've) (?:{_ADVERB} |have |has |had )?called$",
    # a number of what was said before: "I want both"
    r"\b(?:want|wants|need|take|have|like|got|lost|buy|order|do|keep|try|see|know) both$",
    r"\b(?:dollars|euros|pounds|cents|bucks|quid|percent|one|two|three|four|five|six|seven|eight|nine|ten|twenty"
    r"|\d+)(?: \w+)? each$",
    LEAD + r"(?:either|both)$",
    LEAD + r"(?:a|the|an) (?:extra )?(?:large|small|medium|double|single)$",
    # said as they are
    LEAD + r"(?:if (?:that's|it's|that is|it is) (?:okay|ok|all right|alright|fine|possible"
    r"|convenient)(?: (?:with|by|for) you)?|if you (?:don't mind|can|could|like|want|have time|must|would"
    r"|wouldn't mind|please|prefer|do)|if (?:not|necessary|needed)|(?:whenever|when|wherever|however|whatever"
    r"|whichever) (?:you (?:can|like|want|prefer|have time)|(?:it )?suits(?: you)?|(?:you're|you are|it's|it is"
    r"|that's|is) (?:ready|free|convenient|best|possible|easiest|easier)(?: for you)?))$",
)  # fmt: skip
# could stand, and hardly ever do
_DOUBTFUL: Final = re.compile(
    r"\b(?:i|we) (?:understand|know|see|get|heard|saw|read) that$|\b(?:have|take|want|like|do|be) either$"
    rf"|\b(?:need|want|have|get|take|buy|order|for|like|send me|give me) another$|{LEAD}(?:do|does|did|are|is"
    r"|have|has|can|could|will|would)\b.* any$"
)
# said as they are
_FORMULA: Final = re.compile(
    LEAD
    + r"(?:as soon as (?:possible|you can)|if (?:at all )?possible|as (?:usual|always|before|planned|agreed"
    r"|discussed|far as i (?:know|remember))|since (?:then|always|birth)|because of (?:that|this|it))$"
)
_THEN: Final = re.compile(
    r"^(?!.*\b(?:and|but|so|just|only|or|even|i|we|he|she|they|i'll|we'll|i'd|(?:and|but|so) (?:it|you|there)) then$)"
    + LEAD[1:]
    + r"(?!(?:if|when|because|since|once|as|after|before|unless|while)\b).+ then$"
)
# "Yes, I'd love to": asked whether one would
_TO: Final = re.compile(
    r"\b(?:love|happy|glad|pleased|delighted|not|\w+n't (?:want|need|have|like|get|going|able|plan|mean)) to$"
)
_WANTED_TO: Final = re.compile(
    r"^(?:yes|yeah|yep|no|sure|of course)\b.*\b(?:want|like|need|have|going|plan|hope|prefer|used|able|try|tried) to$"
)
_YES_OR_NO: Final = re.compile(
    r"^(?:(?:oh|um|uh|well) )*(?:yes|yeah|yep|no|nope|sure|of course|not)\b|\bnot to$"
)

_NOTHING_FOLLOWS: Final = tuple(map(re.compile, _WHOLE))
_MORE_MAY_FOLLOW: Final = tuple(map(re.compile, _ENOUGH))


def standing_in(spoken: str, expected: Expected | None) -> Ending | None:
    """The ending of words of which the last stands for more; None where it does not."""
    if is_question_word_alone(spoken) or any(pattern.search(spoken) for pattern in _NOTHING_FOLLOWS):
        return Ending.FINISHED
    if _FORMULA.match(spoken):
        return Ending.COMPLETE
    if any(pattern.search(spoken) for pattern in _MORE_MAY_FOLLOW):
        return Ending.NEUTRAL
    if _THEN.match(spoken):
        return Ending.FINISHED if QUESTION.match(spoken) else Ending.NEUTRAL
    if spoken.endswith(" to"):
        return _infinitive(spoken, expected)
    if _DOUBTFUL.search(spoken):
        return Ending.HANGING
    return Ending.NEUTRAL if spoken == "please" and _asks_yes_no(expected) else None


def _infinitive(spoken: str, expected: Expected | None) -> Ending | None:
    if not _asks_yes_no(expected) and not _YES_OR_NO.search(spoken):
        return None
    if _TO.search(spoken):
        return Ending.PAUSING
    return Ending.HANGING if _asks_yes_no(expected) and _WANTED_TO.search(spoken) else None


def _asks_yes_no(expected: Expected | None) -> bool:
    return expected is not None and expected.kind == "yes_no"
