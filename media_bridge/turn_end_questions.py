"""Where an English question cannot stop: what its question word takes out of the clause, and what is still missing.

Only "what", "which", "who" and "how many" take an object out ("What do you need?", "Who do I talk to?"); behind
"where", "when", "why" and "how" a verb and a preposition want theirs ("How do I get",
"When will you send"). Huddleston
and Pullum, The Cambridge Grammar of the English Language, chapter 12. Lower-case words, single blanks. Pure.
"""

import re
from typing import Final

LEAD: Final = (
    r"^(?:(?:and|so|but|or|then|ok|okay|well|yes|yeah|no|oh|um|uh|right|hi|hello|hey|sorry|excuse me|please|thanks"
    r"|thank you|good (?:morning|afternoon|evening)|just|also) )*"
)
_PRONOUN: Final = r"(?:i|you|we|they|he|she|it|anyone|anybody|someone|somebody|everyone|everybody|one)"
_POINTING: Final = r"(?:it|this|that|these|those|they|he|she|you|we|i)"
_OBJECT: Final = r"(?:it|this|that|them|these|those|me|him|her|us|you|one|something|everything|myself)"
_THING: Final = r"(?:the|this|that|these|those|my|your|our|his|her|their|a|an)(?: \w+){1,2}"
AUXILIARY: Final = (
    r"(?:can|could|may|might|will|would|should|shall|must|do|does|did|don't|doesn't|didn't|can't|couldn't|won't"
    r"|wouldn't|shouldn't)"
)
_BE: Final = r"(?:is|are|was|were|am|isn't|aren't|wasn't|weren't)"
_ADVERB: Final = (
    r"(?:ever|possibly|please|also|just|maybe|even|all|kindly|still|already|really|actually|usually|perhaps"
    r"|first)"
)
_MEASURE: Final = (
    r"(?:long|much|many|far|big|large|tall|heavy|wide|high|old|often|soon|late|early|fast|deep|thick)"
)
# of which "how long" is an adverb: "how long" may be the object of "take", and no preposition's
_TAKES_OBJECT: Final = rf"(?:what|which|who|whom|whose|whatever|whichever|how (?:many|much|{_MEASURE}))"
_TAKES_NOUN: Final = (
    rf"(?:what|which|who|whom|whose|how many \w+|how (?!far (?:is|are|was) ){_MEASURE}(?: \w+)?)"
)
_TAKES_NONE: Final = rf"(?:where|when|why|how(?! {_MEASURE}\b))"
_PREPOSITION: Final = (
    r"(?:to|of|for|with|at|from|in|on|by|about|into|through|between|within|without|under|near|during|against"
    r"|towards?|across|behind|beside|besides|onto|upon|via|per|including|regarding|concerning)"
)
# may end a clause on their preposition, which the question word or the relative clause has taken the object of
_STRANDING: Final = {
    "to": "came|come|comes|deliver"
    "|addressed|allergic|applies|apply|assigned|attached|belong|belongs|charged|complain|connect|connected"
    "|drive|driving|entitled|fly|flying|go|goes|going|gone|lead|leads|listen|listening|married|move|moved|moving"
    "|opposed|refer|referring|relate|reply|report|respond|return|returned|run|runs|sent|ship|similar|speak"
    "|speaking|spoke|spoken|subscribe|subscribed|switch|talk|talking|transfer|travel|travelling|used|went|write"
    "|writing|wrote",
    "for": "do it|get it|guaranteed|keep it|keep|open|rent it|rent|sell it"
    "|account|applied|apply|applying|ask|asked|asking|billed|blamed|booked|call|calling|care|charged"
    "|compensated|covered|down|due|eligible|famous|go|good|head|heading|hope|hoping|insured|known|look|looked"
    "|looking|meant|paid|pay|paying|phoning|prepare|qualify|ready|register|registered|responsible|ringing|search"
    "|searching|shop|sign up|signed up|stand|stands|used|valid|vote|wait|waited|waiting|work|working|works",
    "from": "are they|are you|bought|buy|call|calling|came|choose|come|comes|coming|depart|departs|different|fly"
    "|flying|get|got|hear|heard|hearing|is he|is it|is it coming|is she|is that|is this|leave|leaves|live|made"
    "|order|ordered|phoning|ringing|run|runs|sent|start|starts|suffer|suffering|taken|travel|was he|was she",
    "with": "agree|begin|came|chat|come|compatible|deal|dealing|deals|dealt|done|go|happy|help|insured|live"
    "|living|registered|speak|speaking|spoke|start|stay|staying|talk|talking|travel|travelling|work|working|works"
    "|wrong",
    "in": "arrive|fill|available|based|born|come|enrolled|interested|involved|listed|live|living|located|made|packed"
    "|paid|priced|put|sit|specialise|specialize|stay|staying|work|working|written",
    "on": "agree|am|are|based|booked|click|count|decide|depend|depends|focus|get|getting|going|insist|is|live"
    "|press|printed|put|rely|run|runs|running|sit|stop|travel|wait|was|work|working|written",
    "at": "aim|arrive|arrives|begin|get off|good|laugh|live|look|looking|meet|park|start|stay|staying|stop"
    "|stops|work|working",
    "about": "all|ask|asked|asking|call|calling|careful|complain|complaining|concerned|enquiring|happy|hear|it"
    "|mistaken|phoning|read|ringing|serious|speaking|talk|talking|that|they|think|thinking|this|told|upset"
    "|worried|worry|write",
    "of": "accused|afraid|aware|capable|composed|consist|consists|dream|hear|heard|made|part|proud|sure|think"
    "|thinking|tired",
    "by": "called|come|delivered|done|drop|go|made|mean|meant|owned|paid|run|sent|signed|stop|written",
    "through": "come|get|go|going|put|went",
    "under": "booked|filed|listed|registered|saved",
    "into": "bump|convert|get|log|look|looking|move|paid|put|run|turn",
    "near": "is it|live|located",
    "without": "do|go|live",
    "against": "covered|insured|vaccinated|vote",
    "towards": "count|go",
    "between": "choose|go",
    "within": "is it",
}  # fmt: skip
_GIVING: Final = (
    r"(?:send|give|return|bring|take|pay|mail|e-?mail|ship|post|address|make|hand|forward|transfer|connect|submit"
    r"|report|show|sell|put|get|need|want|use|do|leave|sent|gave|paid|took|got|charge|share|discuss|plug|order|buy"
    r"|ordered|bought|help|replace|compare|spend|exchange|write|say|read|park|load|upload|save|meet|find|call"
    r"|reach|contact|deliver)"
)
# the infinitive's: "it takes long to", "what do I need to", "what do you want me to"
_INFINITIVE_TO: Final = re.compile(
    r"\b(?:costs?|takes?|needs?|have|has|had|ways?|long|wants?|wanted|likes?|loves?|prefer|able|supposed|allowed"
    r"|going|try|trying|need(?:ed)?|ought|hoping|plan|planning|possible|easy|hard|best|better|how|when|where|what"
    r"|due|expect(?:ed)?|(?:want|like|need|tell|told|ask|asked|allow|expect|advise|prefer)s? (?:me|us|you|him|her"
    r"|them|it)) to$"
)
_GAP: Final = re.compile(
    "|".join(
        rf"\b(?:{verbs})(?: (?:up|back|out|over|off|again|now|right now|all))? {preposition}$"
        for preposition, verbs in _STRANDING.items()
    )
)
_WITH_SUBJECT: Final = re.compile(
    rf"\b{_TAKES_NOUN}\b(?: [\w']+){{0,3}}? (?:{AUXILIARY} \w+|(?:(?:{_BE}|have|has|had) )?(?:to|i|you|we|they|he"
    rf"|she|it|{_THING}))\b.* {_PREPOSITION}$"
    # "nothing to worry about", "worth waiting for"
    rf"|\b(?:nothing|nobody|no one|not worth|worth)(?: to)? \w+ {_PREPOSITION}$"
    # a noun and its clause: "the woman I spoke to"
    r"|\b(?:the|a|an|any|some|this|that|one|ones|someone|somebody|something|anything|everything|all|only|my|first"
    r"|last)(?: \w+){0,2}"
    rf"(?: that| who| which)? (?:i|we|you|they|he|she)(?:'\w+)?\b(?: [\w']+){{0,4}} {_PREPOSITION}$"
)
# "What is it for?", "Who is this from?", "what that was about", "What's this charge for?"
_OF_POINTING: Final = re.compile(
    rf"\b(?:{_TAKES_NOUN}(?: \w+)? {_BE}|(?:what|who)'s)(?: all| \w+ing)? {_POINTING}(?: \w+)?(?: all)? (?:for"
    rf"|from|about|to|by|in|on|with|at|of)$|\b{_TAKES_NOUN}(?: \w+)? {_POINTING}(?:'s| {_BE})(?: all)? (?:for|from"
    rf"|about|to|by|with|on|in|at)$|\b(?:what|who)(?:'s| {_BE}) {_THING} about$"
)
_OBJECT_THEN: Final = re.compile(
    rf"\b(?:\w+ {_OBJECT}|{_GIVING} {_THING})(?: (?:out|back|on|off|up|over))? (?:to|from|for|with|in|on|into"
    r"|about|by|at|under)$"
)
_PLACE: Final = re.compile(
    rf"\bwhere(?:'s| {_BE}) (?:{_POINTING}|(?:this|that|these|those|the) \w+ (?=\w+ing\b))(?: \w+ing)? (?:to|from|at)$"
    rf"|\bwhere (?:do|does|did|can|should|could|will|would|shall) {_PRONOUN}(?: have to"
    rf"| need to)? (?:\w+ (?:{_OBJECT}|{_THING})|come|fly|depart|leave|start|belong|move|ship|travel|call) (?:to"
    rf"|from|at)$|\bwhere (?:{_POINTING}(?:'s|'re)?)(?: {_BE})?(?: \w+ing)? (?:from|to|at)$|\bwhere (?:does"
    rf"|did) (?:{_POINTING}|{_THING}) (?:\w+ )?(?:to|from)$|\bwhere (?:should|do|does|can|could) (?:i|we|it|he"
    r"|she) go to$"
)
_WORD_AND_PREPOSITION: Final = re.compile(
    LEAD + r"(?:what|who|where|which one|how many)(?: else)? (?:for|with|from|to|by|in|on|at)$"
)
_PREPOSITION_AND_WORD: Final = re.compile(
    LEAD
    + rf"(?:{_PREPOSITION}|since|until|till|before|after|or|and) (?:when|where|what|who|whom|which|which one)$"
)
# object and infinitive: "who do I ask to", "what do I do about"
_GOES_ON: Final = re.compile(r"\b(?:think|know|say|do|tell me|said|told me) (?:about|of)$")

_OBJECT_VERB: Final = (
    r"(?:sell|offer|accept|repair|fix|change|return|recommend|ask|order|take|book|reserve|rent|buy|bring|get|make"
    r"|have|find|use|check|confirm|give|send|show|include|cover|charge|suggest|explain|arrange|replace|exchange"
    r"|refund|add|remove|update|extend|renew|block|activate|receive|see|want|need|like|prefer|speak|do|carry"
    r"|stock|keep|serve|supply|treat|support|require|handle|lend|borrow|put|download|access|reset|withdraw"
    r"|deposit|owe|claim|contact|provide|mean|install|clean|wear|lose|expect|guarantee|involve|contain|raise"
    r"|lower|increase|describe|request|hire|pick|set|try on|look at|talk to|speak to|speak with|look for|look up"
    r"|fill (?:out|in)|(?:pick|set) up|(?:drop|pay|turn|switch) off|(?:turn|switch|put) on|(?:bring|send|give|pay"
    r"|take) back|(?:bring|hand) in)"
)
# with "how" and "where" the thing is often clear: "How do I order?", "Where can I change?"
_CLEAR_VERB: Final = (
    r"(?:get|find|use|send|give|put|make|contact|have|take|bring|buy|return|change|expect|receive|reset|access"
    r"|replace|check|exchange|update|add|remove|see|want|need|pick up|drop off|hand in|bring in|set up|fill in"
    r"|fill out|activate|block|fix|download|claim|arrange|renew|extend|show|install|keep|borrow|charge|raise"
    r"|increase)"
)
_LACKING: Final = tuple(
    re.compile(pattern)
    for pattern in (
        LEAD + rf"{AUXILIARY} {_PRONOUN}(?: {_ADVERB})?(?: (?:want|like|need|have|be able|try|prefer|love) to)?"
        rf" {_OBJECT_VERB}$",
        # a price changes and a friend orders, too
        LEAD + rf"{AUXILIARY} (?:the|my|your|our|this|that) \w+ (?!change$|order$|ask$|book$"
        rf"|increase$){_OBJECT_VERB}$",
        rf"\b{_TAKES_NONE} (?:{AUXILIARY}) {_PRONOUN}(?: {_ADVERB})?(?: (?:have|need|go) to)? {_CLEAR_VERB}$",
        rf"\bwhere {AUXILIARY} (?:i|we) leave$",
        rf"\b(?:where|how) (?:i|we|you) (?:can|could|should|must) {_CLEAR_VERB}$",
        rf"\b(?:where|how) to {_CLEAR_VERB}$",
    )
)  # fmt: skip
_OBJECT_TAKEN: Final = re.compile(
    rf"\b{_TAKES_OBJECT}\b(?: [\w']+){{1,7}}$"
    r"|\b(?:all|as|than|everything|anything|whatever)\b(?: [\w']+){1,6}$"
)
# a question of which there is its subject, or not even that: "What does the guarantee", "How many bags can"
_SUBJECT_AT_END: Final = tuple(
    re.compile(pattern)
    for pattern in (
        LEAD
        # "Who did the repair?", "Which one has the warranty?" ask for the one that did or has
        + r"(?!who (?:did|does|do|has|have) |(?:what|which)(?: \w+){0,2} (?:has|have) )"
        + rf"(?:(?:what|which|how|when|where|why|who)(?: (?!{AUXILIARY} )\w+){{0,3}} )?(?:(?:{AUXILIARY}|has"
        rf"|have) (?:the|my|your|our|his|her|their)|{AUXILIARY} an?) (?:(?:new|old|next|last|first|second|other"
        r"|same|big|small|blue|red|whole|late|early|only) )?\w+$",
        LEAD + rf"{_BE} (?:my|your|our|his|her|their|the) (?:(?:new|next|last|first|second|other|same) )?\w+$",
        LEAD + rf"(?:what|which|whose|how {_MEASURE}) (?!{_PRONOUN} |{_POINTING} |{AUXILIARY} |the |my |your "
        rf"|our )[\w']+ (?:\w+ )?(?:{AUXILIARY}|{_BE}|has|have)$",
        LEAD + rf"how {_MEASURE} (?:{AUXILIARY}|has|have)$",
        r"\b(?:is|are) there (?:any|some|no)(?:thing|one|body|where)(?: else)? (?:i|we|you) (?:can|could|should"
        r"|must|would)$",
        LEAD
        + rf"(?:{_BE}|{AUXILIARY}|has|have) (?:any|some|every|no)(?:one|body)(?: else)?$",
        LEAD + rf"(?:{_BE}|has|have) (?:{_POINTING}|anyone|anybody|someone|somebody) (?:still|already|usually"
        r"|always|also|ever|just)$",
        r"\bnot (?:how|what|where|when|who)$",
        r"\b(?:while|when|until|till|once|unless|where|whenever) (?:you|it|there)$",
    )
)  # fmt: skip
_SUPERLATIVE: Final = (
    r"(?:latest|earliest|best|nearest|cheapest|quickest|fastest|biggest|smallest|first|second|third|last|next"
    r"|main|only)"
)
_COPULA_QUESTION: Final = re.compile(
    LEAD
    + rf"(?:(?:how|why|when|where|who|what) )?{_BE} (?:it|this|that|these|those)(?: (?:all|still|really|too"
    r"|so|the))? \w+$"
)
_WHICH_IS: Final = re.compile(
    LEAD + rf"(?:which|who|what)(?: (?:one|of (?:them|those|these)))?(?:'s| is| are| was) the {_SUPERLATIVE}$"
)


def lets_object_go(spoken: str) -> bool:
    """Whether a question or relative word stands before the end that may be the object of what follows it."""
    return bool(_OBJECT_TAKEN.search(spoken))


def ends_on_gap(spoken: str) -> bool:
    """Whether the preposition that `spoken` ends with may be its last word: "Who do I talk to?"."""
    if _WORD_AND_PREPOSITION.match(spoken):
        return True
    if _PLACE.search(spoken):
        return True
    if _INFINITIVE_TO.search(spoken) or _GOES_ON.search(spoken):
        return False
    if _OF_POINTING.search(spoken):
        return True
    return bool(_WITH_SUBJECT.search(spoken) and (_GAP.search(spoken) or _OBJECT_THEN.search(spoken)))


def is_question_word_alone(spoken: str) -> bool:
    """ "Since when?", "From where?": the question is the word that seems to want more."""
    return bool(_PREPOSITION_AND_WORD.match(spoken))


def question_lacks_object(spoken: str) -> bool:
    """ "Do you sell", "Where can I find"."""
    return any(pattern.search(spoken) for pattern in _LACKING)


def lacks_predicate(spoken: str) -> bool:
    """ "Can my husband", "What does the guarantee", "Can I wait while you": there is a subject, or not even that."""
    return any(pattern.search(spoken) for pattern in _SUBJECT_AT_END)


def asks_how_it_is(spoken: str) -> bool:
    """ "Is that possible?", "Which is the cheapest?": an adjective that is said of something, and wants no noun."""
    return bool(_COPULA_QUESTION.match(spoken) or _WHICH_IS.match(spoken))
