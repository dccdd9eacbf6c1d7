"""Where English cannot stop, by its grammar: what a verb, an adjective, a subject or a question still needs"
" behind it.

`turn_end_words` has single words and the phrases of the telephone; here are the constructions. Matched against
lower-case words joined by single blanks, without punctuation. Pure.
"""

import re
from typing import Final

_SUBJECT: Final = r"(?:i|you|we|they|he|she|it)"
_PERSON: Final = r"(?:me|us|him|her|them|you)"
_CONTRACTED: Final = r"(?:i'm|i've|i'd|i'll|(?:he|she|it|that)'s|(?:you|we|they)'(?:re|ve|d|ll))"
_LEAD: Final = (
    r"^(?:(?:and|so|but|ok|okay|well|yes|no|hi|hello|hey|sorry|excuse me|please|um|uh|oh|then|good (?:morning"
    r"|afternoon"
    r"|evening)) )*"
)
_ADVERB: Final = (
    r"(?:always|never|usually|normally|often|hardly|still|already|also|really|simply|definitely|probably|currently"
    r"|recently|finally|generally|certainly|rarely|sometimes|absolutely|actually|even|just|only)"
)
_ADJECTIVE: Final = (
    r"(?:new|old|big|different|better|bigger|smaller|larger|cheaper|faster|red|blue|green|black|white|brown"
    r"|gr[ae]y|yellow"
    r"|pink|purple|good|bad|nice|long|strange|certain|whole|proper|normal|similar|particular|possible|serious|huge"
    r"|terrible|horrible|quick|simple|specific|wrong|broken|used|free|spare|temporary|permanent|private|public"
    r"|local"
    r"|regular|special|valid|late|early|low|high|wooden|electric|digital)"
)
_WH: Final = r"(?:what|where|how|when|why|who|which|whose|whether)"
_NUMBER: Final = r"(?:two|three|four|five|six|seven|eight|nine|ten|a dozen|\d+)"

# cannot stand
CANNOT_STAND: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # a clause of which there is the subject: "She told me you", "whether it"
        r"\b(?:whether|if|because|although|unless|hope|hoping|guess|suppose|sure|afraid|wondering|(?:sounds?"
        r"|looks?|seems?)"
        r" like|(?:told|tell|asked|promised|informed|assured) (?:me|us|him|her|them)) (?:you|it|there|these"
        r"|those)$",
        # a subject and an adverb: "I usually"
        rf"(?:^|.* )(?:(?!(?:you|it) ){_SUBJECT}|{_CONTRACTED}) {_ADVERB}$",
        r"(?:^|\b(?:and|but|so|because|if|that|when|since|while|although|unless|whether|as|think|hope|guess"
        rf"|yes|no) )(?:you|it) {_ADVERB}$",
        # of which degree: "it is too"
        r"\b(?:is|are|was|were|am|be|been|it's|i'm|that's|they're|he's|she's|we're|you're|seems|looks|feels|sounds)"
        r" (?:quite|too|rather|pretty|fairly|extremely|slightly|very|way|as)$",
        # an article and an adjective: "a new"
        rf"\b(?:a|an|another|any|every|each|my|your|our|their|its) (?:(?:very|really|much|more|completely"
        rf"|slightly) )?{_ADJECTIVE}$",
        # who, of a noun: "somebody who"
        r"\b(?!(?:know|sure|ask|asked|tell|told|me|remember|forgot|idea|see|wonder|and|or|but|about|with|to|of"
        r"|for|so|ok|sorry)"
        r"\b)\w+ (?:who|which|whom|whose)$",
        r"\b(?:whoever|whichever)$",
        # what is asked: "I would like to know how"
        rf"\b(?:(?:like|love|want|wanted|need|needed|trying|able|calling|here|just) to (?:know|ask|see|find out"
        rf"|check|understand"
        rf"|hear)|depends(?: on)?|wonder|wondering) {_WH}$",
        r"\b(?:was|were|been|am|are|i'm|we're) told that$",
        _LEAD + r"(?:my|the|his|her|their|our) (?:name|surname|first name|last name|address|number|problem"
        r"|question)$",
        _LEAD + r"(?:i'm|i am|we're|we are|i'm just|i was|i was just) (?:calling|phoning|ringing|writing"
        r"|wondering|hoping)$",
        r"\b(?:address is|live (?:at|in)|living (?:at|in)|it's|it is) (?:flat|apartment|unit|suite|house number"
        r"|number)$",
        r"\b(?:\w+'s|\w+'ve|have|has) got$",
        _LEAD
        + r"(?:first of all|firstly|secondly|by the way|for example|for instance|actually|honestly|to be honest"
        r"|in other words"
        r"|on the other hand|in fact|in general|anyway|unfortunately|fortunately|apparently|obviously|however|at"
        r" first"
        r"|as far as i know|as i said|to be fair|the thing is|long story short)$",
        # what the recogniser makes of "for", "to", "of", "or" and "if"
        r"\b(?:looking|asking|waiting|searching|paying|ready|calling|here|reserved|responsible) (?:four|far|fore)$",
        r"\b(?:deliver|delivering|listen|talk|talking|speak|speaking|belongs?|goes|going|go|move|moving|fly"
        r"|travel|drive|return"
        r"|transfer|connect|switch|reply|relates?|changed?|happen(?:ed|s)?|next|used|able|like)"
        r"(?: (?:it|this|that|them|me))? (?:two|too|2)$",
        r"\b(?:because|out|lot|lots|kind|sort|number|instead|front|copy|pair|list|name|side|part|piece|cup|bottle"
        r"|box|most"
        r"|some|all|one|none|each|couple|end|rest|half|plenty|speaking) off$",
        r"\b(?:know|ask|wonder|wondering|see|check|tell me) (?:us|is|it's)$",
    )
)  # fmt: skip

# could stand, and hardly ever does: in any clause
LACKS_MORE: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?:supposed|allergic|able|unable|willing|likely)$",
        # not: "that is not what I meant"
        rf"^(?!.*\bwhat {_SUBJECT} (?:really |actually )?meant$).*\bmeant$",
        rf"\b(?:the|this|that|his|her|these|those|some|no) {_ADJECTIVE}$"
        # of a degree: "I cannot wait that long"
        r"(?<!that long)(?<!that bad)(?<!that big)(?<!that late)(?<!that early)(?<!that high)(?<!that"
        r" low)(?<!that good)"
        r"(?<!that old)(?<!that quick)",
        r"\bthe (?:next|other|first|second|third|last|main|only|latest|earliest|best|nearest|cheapest)$",
        rf"\b(?:bought|ordered|booked|had|got|have|need|want|we are|there are|we're) {_NUMBER}$",
        # a question of which there is its subject
        _LEAD
        + r"(?:(?:what|where|when|why|how|who|which)(?: [\w']+){0,3}? )?(?:can|could|may|might|will|would|should"
        r"|shall|do|does|did|have"
        r"|has) (?:i|you|we|they|he|she|it|anyone|anybody|someone|somebody)(?: (?:ever|possibly|please|also|just"
        r"|maybe|even|all"
        r"|kindly|still|already))?$",
        _LEAD + r"(?:please )?(?:could|can|would|will|do|don't|did) (?:you|i) (?:mind|think|know|say|check"
        r"|explain|confirm|suppose)$",
        _LEAD + r"(?:please )?(?:make sure|let me|let us|tell me|can you tell me|could you tell me|please"
        r"|could you please)$",
        rf"\b(?:know|knew|forgot|forgotten|remember|see|understand|explain|tell|told|ask|asked|sure|idea"
        rf"|find out|show|say|said)"
        rf"(?: {_PERSON})?(?: exactly)? {_WH}$",
        _LEAD + r"(?:all|what) (?:i|we|you|they)(?:'d|'ve| would| have)? (?:like|want|need|wanted|needed|know"
        r"|mean|meant|ask|got|see)$",
        rf"\b(?:{_SUBJECT} (?:was|were|am|are|have been|had been|has been)|i'm|i've been|we've been|we're"
        rf"|they're|she's been"
        rf"|he's been) (?:hoping|told|expecting|wondering|thinking|going|trying|saying|asking|asked|wanting"
        rf"|planning|looking)$",
        r"\b(?!(?:that|it|let|what|where|who|how|here|there)'s$)\w+'s$",
        # what the recogniser makes of "at" and "when"
        r"\b(?:lands?|starts?|works?|lives?|arrives?|opens?|closes?|ends?|begins?|finish(?:es)?|stays?|departs?"
        r"|meets?) it$",
        r"\b(?:happen(?:s|ed)?|stop(?:s|ped)?|start(?:s|ed)?|fell|came|began|occurs|worked|works|only|especially)"
        r" one$",
        r"^(?!.*\b(?:do|does|did|will|would|can|could|should|to|n't)\b.* end$).*\b(?!(?:the|this|that|at|year"
        r"|to|my|other|far|dead|no|your|back|front|month|week|day|will|would|an|in"
        r"|it|they|calls?)\b)"
        r"\w+ end$",
    )
)  # fmt: skip
# the same, but for questions and relative clauses, where the object comes first: "What do I need", "all I bought"
LACKS_OBJECT: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # verbs that want an object
        r"\b(?:need|needs|want|wants|keep|keeps|make|makes|making|expect|expecting|notice|noticed|prefer|include"
        r"|includes"
        r"|including|require|requires|contain|contains|measure|measures|weigh|weighs|cost|costs|own|owns"
        r"|arrange"
        r"|arranging|enjoy|receive|received|bring|bringing|owe|owes|let|lets|lack|spend|buy|buying|bought|afford"
        r"|mention"
        r"|mentioned|said|saying|says|told|got|getting|gets|putting|wearing|using|showing|shows|showed)$"
        r"(?<!my own)(?<!our own)(?<!her own)(?<!his own)(?<!their own)(?<!your own)(?<!its own)",
        # and a second one
        rf"\b(?:let|lets|cost|costs|took|takes|charge|charged|charging|owe|owes|offer|offered|make|makes|made"
        rf"|allow|allowed"
        rf"|promise|promised|lend|lent|teach|bring|brought|send|sent|give|gave|show|showed) {_PERSON}$",
        r"\b(?:left|lost|broke|hurt|sold|forgot|dropped|changed|cut|wants|needs|has|had|got|bought|washed|parked"
        r"|paid|packed) her$",
    )
)  # fmt: skip


def cannot_stand(spoken: str) -> bool:
    return any(pattern.search(spoken) for pattern in CANNOT_STAND)


def lacks_more(spoken: str) -> bool:
    return any(pattern.search(spoken) for pattern in LACKS_MORE)


def lacks_object(spoken: str) -> bool:
    return any(pattern.search(spoken) for pattern in LACKS_OBJECT)
