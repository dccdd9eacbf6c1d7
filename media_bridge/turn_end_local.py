"""How finished German, French and Spanish words sound: function words, fillers, questions, numbers.

Fewer rules than for English (`turn_end_words`), and such as hold for any speaker: what cannot end a sentence, what
asks, what agrees, what is being dictated. Text of any other language has only its figures, letters and punctuation.

Pure: text in, class out.
"""

import re
from dataclasses import dataclass
from typing import Final

from media_bridge import turn_end_dictation as dictation
from media_bridge.turn_end_expected import Expected
from media_bridge.turn_end_waits import Ending
from media_bridge.yes_and_no import YES_AND_NO, one_of


@dataclass(frozen=True)
class LocalWords:
    """Lower-case words with blanks between them; `asking` may hold several verbs that begin a question.

    `open_ends`: cannot be the last. `verbs`: cannot either, but where the verb of a subordinate clause comes last
    (`links` are in it then), the sentence asks, or one of `objects` stands before it ("lo tengo"). `subjects`: may end
    a sentence behind a verb ("die habe ich"). `perhaps`: could be the last and hardly ever are. `numbers`: as
    figures. `spoken`: words of an address or a number as English has them.
    """

    open_ends: frozenset[str]
    verbs: frozenset[str]
    perhaps: frozenset[str]
    objects: frozenset[str]
    subjects: frozenset[str]
    links: frozenset[str]
    fillers: re.Pattern[str]
    agreeing: re.Pattern[str]
    bare: frozenset[str]
    asking: frozenset[str]
    closing: re.Pattern[str]
    numbers: dict[str, str]
    spoken: dict[str, str]
    phone_digits: int


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _figures(words: str, first: int = 0, step: int = 1) -> dict[str, str]:
    return {word: str(first + step * place) for place, word in enumerate(words.split())}


_DE_ONES: Final = "ein zwei drei vier fünf sechs sieben acht neun".split()
_DE_TENS: Final = _figures("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig", 20, 10)
LOCAL_WORDS: Final = {
    "de": LocalWords(
        open_ends=_set(
            "und oder aber denn weil dass ob wenn obwohl damit sondern sowie während bevor nachdem sobald falls"
            " für von ohne"
            " gegen durch zwischen wegen seit bis in im am zum zur beim vom ins ans aufs der den dem des eine einen"
            " einem einer eines mein meine meinen meinem meiner unser unsere unseren kein keine keinen dieser"
            " diese diesen"
            " jeder jede jeden ich er wir man sehr ungefähr etwa circa namens"
        ),
        verbs=_set(
            "ist sind war waren bin hat habe haben hatte hatten wird werden würde kann können könnte könnten möchte"
            " möchten will wollen soll sollte muss müssen darf lautet heißt heiße brauche hätte wäre"
        ),
        perhaps=_set("das die ein ihr ihre sie an auf aus bei mit nach vor zu um über unter als wie"),
        objects=frozenset(),
        subjects=_set("ich er wir man"),
        links=_set(
            "weil dass ob wenn obwohl damit bevor nachdem während sobald falls als was wer wo wann warum wieso"
            " wie welche"
            " welcher welches welchen wohin woher"
        ),
        fillers=re.compile(
            r"\b(?:ähm?|öhm?|h+m+|also|sagen wir|moment|mal sehen|wie sagt man|und dann|warten sie)$"
        ),
        agreeing=re.compile(
            rf"^(?:(?:äh|ähm|also|na) )*(?:{one_of(YES_AND_NO['de'].answers)}|doch|genau|stimmt|richtig"
            r"|gut|in ordnung|auf jeden fall|auf keinen fall|vielleicht|passt|einverstanden)"
            r"(?: (?:ja|nein|bitte|danke|gerne?|genau|schön|gut|klar|das stimmt|das ist (?:richtig|gut|alles)|stimmt"
            r"|richtig|vielen dank))*$"
        ),
        bare=YES_AND_NO["de"].bare | _set("doch gut"),
        asking=_set(
            "wer was wann wo warum wieso weshalb wie welche welcher welches welchen wem wen woher wohin wieviel"
            " kann können"
            " könnte könnten haben hat habt ist sind gibt darf dürfen muss müssen soll sollen wird werden würden"
            " machen"
            " bieten nehmen"
        ),
        closing=re.compile(
            r"\b(?:danke|dank|bitte|tschüss|wiederhören|das war's|das ist alles|keine ahnung|weiß ich nicht)$"
        ),
        numbers={
            **_figures("null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"),
            "zwo": "2",
            **_figures("dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn", 13),
            **_DE_TENS,
            **{
                f"{one}und{word}": str(int(tens) + place)
                for word, tens in _DE_TENS.items()
                for place, one in enumerate(_DE_ONES, 1)
            },
        },
        spoken={"punkt": "dot", "ät": "at", "klammeraffe": "at", "nummer": "number", "bindestrich": "dash",
                "unterstrich": "underscore"},
        phone_digits=10,
    ),
    "fr": LocalWords(
        open_ends=_set(
            "et ou mais donc car que qu' si quand lorsque puisque comme parce à de du des en dans pour avec sans"
            " sur sous chez"
            " par entre vers depuis pendant contre selon au aux le la les l un une mon ma mes votre vos notre nos"
            " leur leurs"
            " ce cet cette ces chaque plusieurs je j tu il elle on ils elles environ très d c qui dont"
        ),
        verbs=_set(
            "est sont était étaient suis ai a avons avez ont sera serait peut peux pouvons veux voudrais voudrait"
            " dois doit"
            " vais allons faut s'appelle m'appelle j'ai j'aimerais c'est n'est n'ai"
        ),
        perhaps=_set("vous nous plus bien aussi même"),
        objects=_set("le la les l y en"),
        subjects=frozenset(),
        links=_set("qui que quoi quand où pourquoi comment combien quel quelle quels quelles si dont"),
        fillers=re.compile(
            r"\b(?:euh|heu|h+m+|ben|bah|voyons|attendez|comment dire|et puis|alors)$"
        ),
        agreeing=re.compile(
            rf"^(?:(?:euh|ben|bah|ah) )*(?:{one_of(YES_AND_NO['fr'].answers)}|si|d'accord|bien sûr"
            r"|exactement|tout à fait|parfait|ça va|ça marche|peut être|pas du tout|c'est (?:ça|bon|exact|correct))"
            r"(?: (?:oui|non|merci|s'il vous plaît|bien sûr|d'accord|c'est (?:ça|bon|tout|exact|correct)|tout à fait"
            r"|beaucoup|madame|monsieur))*$"
        ),
        bare=YES_AND_NO["fr"].bare | _set("si d'accord"),
        asking=_set(
            "qui que quoi quand où pourquoi comment combien quel quelle quels quelles est peut pouvez pourriez"
            " pourrais avez"
            " êtes faut puis qu'est y savez acceptez"
        ),
        closing=re.compile(
            r"\b(?:merci|s'il vous plaît|c'est tout|au revoir|je ne sais pas|bonne journée)$"
        ),
        numbers={
            **_figures("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze"
            " quinze seize"),
            **_figures("vingt trente quarante cinquante soixante", 20, 10),
        },
        spoken={"point": "dot", "arobase": "at", "arrobase": "at", "numéro": "number", "tiret": "dash"},
        phone_digits=10,
    ),
    "es": LocalWords(
        open_ends=_set(
            "y e o u pero porque que si cuando aunque pues mientras donde a de en con para por sin sobre entre"
            " hasta desde hacia"
            " del al según contra durante el la los las un una unos unas mi mis su sus nuestro nuestra nuestros"
            " cada muy yo él"
            " aproximadamente unos como sino"
        ),
        verbs=_set(
            "es son era eran está están soy estoy ha he han hay puede puedo podría quiero quisiera queremos tengo"
            " tenemos"
            " necesito necesitamos debo voy vamos llamo gustaría sería fue"
        ),
        perhaps=_set("este esta ese esa usted más"),
        objects=_set("no lo la los las le les también tampoco"),
        subjects=frozenset(),
        links=_set("qué quién cuándo dónde cómo cuánto cuánta cuántos cuántas cuál cuáles que si donde cuando"),
        fillers=re.compile(
            r"\b(?:eh+|em+|este|h+m+|pues|a ver|o sea|digamos|espere|un momento|y luego|bueno)$"
        ),
        agreeing=re.compile(
            rf"^(?:(?:eh|pues|ah|bueno) )*(?:{one_of(YES_AND_NO['es'].answers)}|exacto|exactamente|correcto"
            r"|por supuesto|desde luego|de acuerdo"
            r"|perfecto|está bien|así es|eso es|tal vez|quizás|para nada)"
            r"(?: (?:sí|si|no|gracias|por favor|claro|señor|señora|está bien|eso es(?: todo)?|así es|correcto"
            r"|muchas gracias))*$"
        ),
        bare=YES_AND_NO["es"].bare | _set("bueno"),
        asking=_set(
            "qué quién quiénes cuándo dónde cómo cuánto cuánta cuántos cuántas cuál cuáles puede puedo podría"
            " podrían tienen"
            " tiene hay es está están aceptan me por"
        ),
        closing=re.compile(
            r"\b(?:gracias|por favor|adiós|eso es todo|nada más|no sé|no lo sé)$"
        ),
        numbers={
            **_figures(
                "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis"
                " diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco"
                " veintiséis"
                " veintisiete veintiocho veintinueve"
            ),
            **_figures("treinta cuarenta cincuenta sesenta setenta ochenta noventa", 30, 10),
        },
        spoken={"punto": "dot", "arroba": "at", "número": "number", "guion": "dash", "guión": "dash"},
        phone_digits=9,
    ),
}  # fmt: skip

_OPEN_SOUND: Final = re.compile(r"(?:\.\.\.?|…|,|-|–|—|:|、|，)$")
_QUESTION_MARKS: Final = ("?", "？", "؟")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SPELLED_MOST: Final = 1
_PHONE_DIGITS: Final = 10
_FEW_WORDS: Final = 3


def local_ending(text: str, expected: Expected | None, language: str) -> Ending:
    """`turn_end.ending` for another language than English; `language` is a code of two letters."""
    kind = expected.kind if expected else "open"
    said = " ".join(dictation.spell_out(text, asked=kind == "spelling").lower().replace("’", "'").split())
    spoken = " ".join(_WORD.findall(said))
    if not spoken:
        return Ending.LISTING
    known = LOCAL_WORDS.get(language)
    if known and kind == "yes_no" and known.agreeing.match(spoken) and not _OPEN_SOUND.search(said):
        return Ending.AGREED if spoken in known.bare else Ending.ANSWERED
    found = _dictated(_in_english(said, known), expected, known.phone_digits if known else _PHONE_DIGITS)
    if found is not None:
        return found
    if _OPEN_SOUND.search(said):
        return Ending.TRAILING
    asks = said.endswith(_QUESTION_MARKS) and " " in spoken
    found = _by_words(spoken, known, asks) if known else None
    if found is not None:
        return found
    if asks:
        return Ending.FINISHED
    return Ending.LISTING if kind in ("digits", "spelling") else Ending.NEUTRAL


def _by_words(spoken: str, known: LocalWords, asks: bool) -> Ending | None:
    every = spoken.split()
    first, last = every[0], every[-1]
    if known.fillers.search(spoken):
        return Ending.TRAILING
    if known.agreeing.match(spoken):
        return Ending.PAUSING if spoken in known.bare else Ending.FINISHED
    asks = asks or (first in known.asking and len(every) >= _FEW_WORDS)
    before = every[-2] if len(every) > 1 else ""
    if last in known.open_ends and not (last in known.subjects and before in known.verbs):
        return Ending.TRAILING
    whole = asks or before in known.objects or not known.links.isdisjoint(every[:-1])
    if last in known.verbs and not whole:
        return Ending.TRAILING
    if known.closing.search(spoken) or asks:
        return Ending.FINISHED
    return Ending.HANGING if last in known.perhaps else None


def _in_english(said: str, known: LocalWords | None) -> str:
    """Numbers as figures and "dot" for "punkt": `turn_end_dictation` counts in English."""
    if known is None:
        return said
    words = {**known.numbers, **known.spoken}
    return re.sub(r"[^\W\d_]+", lambda word: words.get(word[0], word[0]), said)


def _dictated(said: str, expected: Expected | None, phone_digits: int) -> Ending | None:
    """Digits, letters or an address on their way."""
    kind = expected.kind if expected else "open"
    if kind == "digits":
        count, wanted = dictation.digits_said(said), expected.count if expected else None
        if not count:
            return None
        if wanted is not None:
            return Ending.ANSWERED if count >= wanted else Ending.LISTING
        return Ending.COMPLETE if count >= phone_digits else Ending.LISTING
    letters = dictation.letters_spelled(said)
    if letters and dictation.is_said_before(letters, said):
        return Ending.FINISHED
    if len(letters) > (0 if kind == "spelling" else _SPELLED_MOST):
        return Ending.LISTING
    if (kind == "email" or "@" in said) and ("@" in said or " at" in said or " dot" in said):
        return Ending.COMPLETE if dictation.is_email_whole(said) else Ending.LISTING
    count = dictation.digits_dictated(said)
    if not count:
        return None
    return Ending.COMPLETE if count >= phone_digits else Ending.LISTING
