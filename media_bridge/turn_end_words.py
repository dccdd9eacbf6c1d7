"""What English callers' unfinished and finished turns sound like: the tables of `turn_end`.

Every pattern is matched against lower-case words joined by single blanks, without punctuation,
unless it says otherwise.
"""

import re
from typing import Final

from media_bridge.yes_and_no import YES_AND_NO, one_of

_KNOWN: Final = YES_AND_NO["en"]
SAYS_YES_OR_NO: Final = _KNOWN.yes | _KNOWN.no

FILLER: Final = re.compile(
    r"\b(?:u+m+|u+h+|eh+|e+r+m*|h+m+|ah+m+|(?<!do )you know|(?<!what )i mean|let me (?:see|think|check|look"
    r"|find)|let's see"
    r"|how do i say"
    r"|what was it|and then|so then|basically|in that case)$|^(?:(?:so|oh|yes|no|ok|okay) )*well$"
)
SOUNDS_OPEN: Final = re.compile(r"(?:\.\.\.?|…|,|-|–|—|:)$")

JOINING: Final = frozenset(
    "and but or because if whether than although though unless until while since as whose which nor"
    " plus except"
    " whereas wherever whenever cause 'cause so where".split()
)
PREPOSITIONS: Final = frozenset(
    "to of for with at from in on by about into between without within under near during against"
    " toward towards"
    " through across behind beside besides despite onto upon via per including regarding concerning called".split()
)
DETERMINERS: Final = frozenset(
    "a an the my your his its our their every some another each both such very".split()
)
HALF_SAID: Final = frozenset(
    "almost roughly approximately nearly just even maybe perhaps around only exactly either dear"
    " says costs wanted wants needs includes contains seems became named weighs asked wondered wondering".split()
)
AUXILIARIES: Final = frozenset(
    "is are was were am be been being do does did has had will would could can should must might shall"
    " isn't aren't wasn't won't wouldn't couldn't can't shouldn't don't doesn't didn't cannot".split()
)
CONTRACTIONS: Final = re.compile(
    r"\b(?:i'm|i'll|i've|i'd|(?:it|that|there|he|she|what|who|here|let|where)'s|(?:you|we|they)'(?:re"
    r"|ve|ll|d))$"
)
SUBJECT_ALONE: Final = re.compile(r"(?:^|.* )(?:i|we|he|she|they)$")
INVERTED: Final = re.compile(
    r"\b(?:am|are|is|was|were|do|does|did|can|could|will|would|should|shall|may|have|has|if not|nor)"
    r" (?:i|we|he|she|they)$"
)
PARTICLE: Final = re.compile(
    r"\b(?:log|logg|sign|check|com|came|turn|hold|go|gone|went|mov|drop|get|got|carry|keep|kept)(?:ed|ing|ged"
    r"|e|es|s)? (?:in|on)$"
    r"|\b(?:com|came|go|gone|went|drop|dropp|stop|stopp)(?:e|es|ing|ed|s)? by$"
    r"|\b(?:turn|plug|mov|drop|fill|switch|get|got|let|put|keep|kept|tak|took|hand|bring|brought|pay|paid"
    r"|call|count|left|leav|sign|log|book)"
    r"(?:ed|ing|ged|e|es|s)? (?:it|them|that|this|me|him|her|us) (?:in|on)$"
)
WH_START: Final = re.compile(
    r"^(?:(?:and|so|but|ok|okay|sorry|hi|hello|well|excuse me|yes|no|please) )*(?:what|where|who|which"
    r"|whom|how|why)\b"
)
EMBEDDED_WH: Final = re.compile(
    r"\b(?:what|where|who|which|how|when|why|all|as|than|everything|anything|whatever)\b(?: [\w']+){1,6}$"
)
SHORT_CLAUSE: Final = re.compile(
    r"^(?:(?:yes|yeah|yep|no|nope|sure|well|of course|ok|okay) )*(?:i|we|it|he|she|they|that|you|there"
    r"|this) (?:really )?"
    r"(?:am|are|is|was|were|do|did|does|has|had|can|could|will|would|should|might|may|have|isn't|don't"
    r"|didn't|can't|won't|wouldn't|doesn't|cannot)(?: not)?$"
)
THAT_CLAUSE: Final = re.compile(
    r"\b(?:(?:told|tell|tells|telling|remind|reminded|promised) (?!(?:about|of|to|by|like|before)\b)(?:\w+)"
    r"|said|say|says|think"
    r"|thought|know|knew|mean|means|is|was|sure"
    r"|believe|hope|hoping|understand|so|afraid"
    r"|heard|saw|noticed|read|assume|suppose|guess|except|now|see|chance|idea|fact|possible|likely"
    r"|important|problem|feeling|way|notice) that$"
)
NEEDS_OBJECT: Final = re.compile(
    r"\b(?:(?:would|i'd|we'd|he'd|she'd|they'd|also) (?:really )?(?:like|love|prefer|need|want|rather)"
    r"|(?:i|we|they) (?:need|want|have|got|bought|prefer|wish|think it's|can see)|(?:has|have) got|my \w+ has"
    r"|(?:going|want|need|like|wanted|trying|have|able|try) to (?:make|buy|get|send|bring|take|have|be"
    r"|say|ask for|put|find|give|do|use|reach|contact|know if|tell you))$"
)
_WISH: Final = (
    r"(?:like|love|prefer|want|wants|wanted|need|needs|needed|have|has|had|going|trying|tried|try|hoping|hope|able"
    r"|supposed|decided|forgot|planning|plan|ready|here|calling|asked|(?:told|asked) (?:me|us|him|her|them))"
)
# "a fee I have to pay"
RELATIVE_NOUN: Final = re.compile(
    r"\b(?!(?:and|but|so|because|if|that|think|yes|no|well|now|then|when|today|tomorrow|ok|okay|sorry)\b)\w+"
    r" (?:i|we|you|they) (?:(?:have|need|want|had|wanted|would like|am supposed|are supposed) to|can|could"
    r"|should|may|must) \w+$"
)
BARE_INFINITIVE: Final = re.compile(
    rf"\b{_WISH} to (?!(?:go|leave|complain|sleep|wait|stop|talk|come|know|move|help|work|travel|cancel|apply|register"
    r"|upgrade|unsubscribe|reschedule|join|continue|proceed|quit|subscribe|pay|start|participate|donate|enrol"
    r"|enroll|resign|vote|complete|retire|reply|respond|settle|relax|rest|eat|drive|walk|fly|me|you|him|her"
    r"|it|us|them|that|this|\w+(?:ing|day|ly|ville|ton))$)[a-z]+$"
)
LACKS_OBJECT: Final = re.compile(
    r"\b(?:would|will|can|could|should|must|might|may|to|not|cannot|\w+n't|\w+'ll|\w+'d|i|we|you|they|please)"
    r" (?:take|bring|get|make|need|want|give|send|find|buy|use|show|put|have|include|require|contain|contact"
    r"|reach|keep|recommend|authori[sz]e|offer|sell|replace|exchange|download|access|provide|guarantee|borrow"
    r"|rent|reserve|claim|request"
    r"|bought|found|gave|sent|made|took|brought|told|put|received|ordered|lost|expect|expected)$"
)
# what Whisper writes for an article, or a word of which only the beginning was said: "from the" is "from that"
LACKS_SECOND: Final = re.compile(
    r"\b(?:send|give|show|tell|bring|get|lend|read|sent|gave|told) (?:me|us|him|her|them)$"
)
# "told us to" is "told us, too"
MISHEARD_TO: Final = re.compile(
    rf"\b(?:{_WISH}|possible|told|asked)(?: (?:me|us|him|her|them|you))? (?:too|two|2)$"
)
TO_ASK: Final = re.compile(rf"\b{_WISH} to (?:ask|know|say|check|find out|make sure|confirm|mention|hear)$")
MISHEARD_ARTICLE: Final = re.compile(
    r"\b(?:from|with|to|for|of|in|on|at|by|about|into|through|after|before|and|or|is|was|are)"
    r" (?:that|those|this|these|her|there)$"
)
RELATIVE: Final = re.compile(
    r"\b(?:all|what|that|whatever|everything|thing|things|anything|one|ones|much|many|which) (?:i|we"
    r"|you|they)(?: [\w']+){1,3}$"
)
SAID: Final = re.compile(r"\b(?:said|told (?:me|us|him|her|them))$")
THEN: Final = re.compile(
    r"(?<!until)(?<!since)(?<!by)(?<!you)(?<!okay)(?<!ok)(?<!bye)(?<!right)(?<!back) then$"
)
WHEN: Final = re.compile(
    r"(?<!know)(?<!sure)(?<!say)(?<!tell me)(?<!ask)(?<!remember)(?<!since)(?<!about)(?<!exactly) when$"
)
ANY: Final = re.compile(r"^(?:do|does|did|are|is|have|has|can|could)\b.* any$")
THINKING: Final = re.compile(
    r"^(?:(?:yes|yeah|no|well|so|and|but|because|oh) )*(?:i|we) (?:think|guess|believe|hope|feel"
    r"|suppose|thought|figured|wonder|wish|wanted|was|were)$"
)
IS_TO_COME: Final = re.compile(
    r"^(?:(?:and|so|but|well|yes|no) )*(?:what (?:i|we|you)(?: [\w']+){1,3} (?:is|was)|there (?:is|are"
    r"|was|were))$"
)
KNOW_WHAT: Final = re.compile(
    r"\b(?:you know what|guess what|the thing is|the problem is|at least|at most|more than|less than"
    r"|up to|kind of|sort of|a lot of|such as|under the name"
    r"|(?:at|is|it's|to|in) number|(?:street|house|room|flight) number)$"
)
LIKE: Final = re.compile(r"\b(?:something|anything|looks?|feels?|sounds?|seems?|just|more|is|was|were) like$")
BEFORE: Final = re.compile(
    r"^(?!.*\b(?:(?:have|has|had)(?! to\b)|\w+'ve|never|ever|days?|weeks?|months?|nights?|times?|years?"
    r"|shortly|soon|long)\b)"
    r".* (?:before|after)$"
)
HEAD_ALONE: Final = re.compile(
    r"^(?:(?:so|well|and|but|because|ok|okay|yes|no) )*(?:the|my) (?:\w+ )?(?:reason|problem|thing"
    r"|issue|question|trouble|point)(?: why)?"
    r"(?: is(?: that)?| (?:i|we|that|with)(?! is\b)(?: (?!is\b|was\b|are\b)[\w']+)*)?$"
)
SOMETHING: Final = re.compile(
    r"\b(?:looking|searching|shopping|asking) for (?:something|somebody|someone|somewhere|anything|a place)$"
)
WHETHER_MISHEARD: Final = re.compile(r"\b(?:tell me|ask|know|wonder|wondering|check|sure|see) weather$")
ROUTE: Final = re.compile(
    r"\b(?:go|fly|travel|drive|going|flying|driving|ticket|tickets|train|bus|flight|ride"
    r"|get) from(?: \w+){1,2}$"
)
SUBORDINATE: Final = re.compile(
    r"^(?:(?:so|well|and|but|yes|no|ok|okay|because) )*(?:if|when|because|since|while|after|before"
    r"|although|though|unless|once|whenever|as soon as|in case|every time|whether|as)\b"
)
REASON: Final = re.compile(
    r"^(?:(?:so|well|just|oh|probably|mostly|mainly) )*(?:because|since|'cause|cause) (?:[\w']+ ){1,}[\w']+$"
)
QUESTION_START: Final = (
    r"(?:what|where|who|which|whom|how|why|when (?:is|are|do|does|did|can|could|will|would|should|was|were"
    r"|has|have|may|shall|am)|is"
    r"|are|am|was|were|do|does|did|can|could"
    r"|will|would|should|shall|may|might|have you|has|isn't|aren't|don't|didn't|can't|couldn't|won't"
    r"|wouldn't|what's|where's|who's|how's|when's)"
)
QUESTION: Final = re.compile(
    rf"^(?:(?:and|so|but|ok|okay|sorry|hi|hello|hey|well|excuse me|yes|no|please|then|oh|um"
    rf"|uh) )*{QUESTION_START}(?: [\w']+){{2,}}$"
)
QUESTION_LATER: Final = re.compile(rf"[,.;] (?:and |so |but )?{QUESTION_START}(?: [\w'-]+){{2,}}[.?!]*$")
YES_NO: Final = re.compile(
    rf"^(?:(?:oh|um|uh|well|ah) )*(?:{one_of(_KNOWN.answers)}|ya|right|correct|exactly"
    r"|of course|not really"
    r"|maybe|probably|i think so|i guess so|i don't think so|mm hmm|mhm|uh huh|fine|perfect|great"
    r"|alright|all right|sounds good|go ahead|neither|both)"
    r"(?: (?:yes|yeah|no|please|thanks|thank you|sir|ma'am|sure|it is|it isn't|i am|i do|i don't|i did"
    r"|that's (?:right|correct|fine|it|all)|that is (?:right|correct|fine|it|all)|of course|correct"
    r"|right|not|problem|very much|so much|really))*$"
)
BARE_YES_NO: Final = re.compile(rf"^(?:{one_of(_KNOWN.bare)}|right|well)$")
CLOSING: Final = re.compile(
    r"\b(?:please|thanks|thank you(?: (?:very|so) much)?|goodbye|good bye|bye|bye bye|hello"
    r"|that's (?:all|it|everything|right|fine|correct)"
    r"|that is (?:all|it|everything|right|fine|correct)|nothing else|never mind|no problem"
    r"|i don't know|i do not know|i'm not sure|i am not sure|(?:stop|cancel)(?: it| that)?"
    r"|right now|as soon as possible|the line|operator|have a (?:nice|good) \w+)$"
)
STATEMENT: Final = re.compile(
    r"\b(?:i|you|we|he|she|it|they|that|this|there|somebody|someone|nobody|everybody|everything"
    r"|nothing)(?: [\w']+){2,}$"
    r"|\b(?:i'm|i've|i'd|i'll|it's|that's|there's|we're|we've|we'd|we'll|you're|they're|he's"
    r"|she's|let's)(?: [\w']+)+$"
)
NOUN_FIRST: Final = re.compile(
    r"^(?:(?:and|so|but|well|yes|no|ok|okay|hi|hello) )*(?:my|the|our|your|his|her|their|a|an|both|all"
    r"|some|one|two|no)(?: [\w']+)+$"
)
VERB: Final = re.compile(
    r"\b(?:is|are|was|were|am|be|been|have|has|had|do|does|did|don't|doesn't|didn't|can|can't|cannot"
    r"|could|couldn't|will|won't|would|should|must|need|needs"
    r"|want|wants|like|likes|know|think|get|gets|got|live|lives|work|works|call|called|calling|cost"
    r"|costs|make|made|go|goes|went|say|says|said|tell|told"
    r"|give|gave|take|took|see|saw|find|found|come|came|keep|keeps|lost|forgot|bought|sent|paid|broke"
    r"|broken|fell|felt|ran|left|rang|meant|thought|knew|met|put"
    r"|cut|hit|wrote|drove|began|brought|caught|held|kept|sold|spoke|stood|stole|threw|woke|wore|won"
    r"|\w{2,}ed|[\w]+'(?:m|ve|d|ll|re))\b"
    r"|\b\w{2,}[^s\W]s (?:a|an|the|my|me|you|us|it|no|not|very|too|on|off|out|up|down|to|in|at|from"
    r"|like|loud|loudly)\b"
)
TIME_ALONE: Final = re.compile(
    r"^(?:after|before|since|until)(?: (?:around|about|the|next|last|this))? (?:\d[\w: ]*|noon|midnight|lunch|dinner"
    r"|breakfast|work|school|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|tomorrow|yesterday|today"
    r"|christmas|easter|weekend|week|month|year|\w+day(?: \w+)?|january|february|march|april|may|june|july|august"
    r"|september|october|november|december)"
    r"(?: (?:o'clock|am|pm|thirty|fifteen|forty five))?"
    r"(?:$| (?:is|was|would|will|works?|suits?|should|could|might|may|sounds|seems)\b)"
)
COMMAND: Final = re.compile(
    r"^(?:(?:and|so|ok|okay|yes|no|well|please|just|then|hi|hello|excuse me|sorry) )*(?:tell|give|send"
    r"|call|cancel|book|change|transfer|connect|put|take|make|stop|repeat|say|show"
    r"|help|let|leave|hold|wait|go|come|check|move|add|remove|speak|talk|try|skip|forget|order|bring"
    r"|get|open|close|turn|read)(?: [\w']+){2,}$"
)
MID_STREET: Final = re.compile(
    r"\b(?:live|living|address|street|house|located)\b.* (?:at|is|number) (?:number )?(?:\d+"
    r"|(?:[\w]+(?:teen|ty)|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: \w+)?)$"
)
