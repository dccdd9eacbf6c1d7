"""Short words that a caller uses without wanting anything of the bot, or to get its turn: by language. Data only.

English, German, French and Spanish. Any other language has only what is hummed everywhere ("mm-hm", "okay"): its words
for yes stop the bot like any others, a goodbye is answered by the language model, and any question of the bot is
taken for one that can be answered with yes or no.
"""

from dataclasses import dataclass
from typing import Final

from media_bridge.yes_and_no import OKAY, YES_AND_NO, YesAndNo

_NAMES: Final = {"english": "en", "german": "de", "french": "fr", "spanish": "es"}
_HUMMED: Final = OKAY | frozenset("mhm mm-hm mm-hmm mmhmm mm mmm uh-huh uhuh".split())
_SOUNDS: Final = "hm hmm hmmm ah oh aha"


@dataclass(frozen=True)
class ShortWords:
    """Sets of lower-case words.

    `yes`: answers any question, by saying yes or as much as that. `agreeing`: also answers one that takes yes or no.
    `listening`: all of which a sound of listening is made. `wanting`: what is said to get the turn; nobody hums so.
    `farewells`: take leave, alone or in the `company` of such words only; so do the `farewell_phrases` at the end.
    """

    yes: frozenset[str]
    agreeing: frozenset[str]
    listening: frozenset[str]
    wanting: frozenset[str]
    farewells: frozenset[str]
    company: frozenset[str]
    farewell_phrases: tuple[tuple[str, ...], ...]

    @classmethod
    def of(
        cls,
        known: YesAndNo,
        *,
        as_yes: str,
        agreeing: str,
        listening: str,
        wanting: str,
        farewells: str,
        company: str,
        phrases: str,
    ) -> "ShortWords":
        """From words with blanks between them; phrases have commas between them."""
        yes = known.plain | frozenset(as_yes.split())
        agree = yes | frozenset(agreeing.split()) | _HUMMED
        return cls(
            yes=yes,
            agreeing=agree,
            listening=agree | frozenset(f"{listening} {_SOUNDS}".split()),
            wanting=frozenset(wanting.split()),
            farewells=frozenset(farewells.split()),
            company=frozenset(company.split()),
            farewell_phrases=tuple(tuple(phrase.split()) for phrase in phrases.split(",") if phrase.strip()),
        )


def language_code(language: str | None) -> str | None:
    """ "de" of "de-AT" and of "german", as some servers name what they heard."""
    if not language:
        return None
    name = language.lower()
    return _NAMES.get(name, name.replace("_", "-").split("-")[0])


def short_words(language: str | None) -> ShortWords:
    """Those of a code or name; a language that is not given is English."""
    return SHORT_WORDS.get(language_code(language) or "en", _ANYWHERE)


SHORT_WORDS: Final = {
    "en": ShortWords.of(
        YES_AND_NO["en"],
        as_yes="of course please exactly",
        agreeing="right alright good great true fine",
        listening="uh huh um erm er really cool nice i see got it wow all",
        wanting=(
            "stop wait hold hang on a moment second minute no nope not excuse me sorry pardon what hello help"
            " operator"
            " agent human person please again repeat back cancel"
        ),
        farewells="bye goodbye bye-bye good-bye",
        company=(
            "thank thanks you so much very a lot ok okay alright great good no that's that is all it everything i"
            " have"
            " for now then well and nice day one evening weekend see later take care cheers perfect wonderful"
        ),
        phrases="good bye,see you later,have a nice day,have a good day",
    ),
    "de": ShortWords.of(
        YES_AND_NO["de"],
        as_yes="genau bitte stimmt richtig doch",
        agreeing="gut schön prima super alles passt in ordnung einverstanden",
        listening=(
            "hm-hm ach ach-so achso so äh ähm verstehe verstanden ich interessant echt wirklich cool toll wow weiß"
            " sehe na das"
        ),
        wanting=(
            "stopp stop halt warte warten sie mal moment sekunde einen eine nein nee ne nicht falsch entschuldigung"
            " verzeihung bitte was wie hallo hilfe mensch mitarbeiter nochmal noch einmal wiederholen zurück"
            " abbrechen"
        ),
        farewells="tschüss tschüß tschau ade wiederhören wiedersehen wiederschauen",
        company=(
            "auf danke dankeschön vielen dank herzlichen schön sehr bis bald dann später morgen ok okay alles"
            " klar gut"
            " super prima perfekt nein ja das war's war ist ich habe keine weiteren fragen mehr für heute und also na"
            " einen schönen tag noch abend wochenende ihnen dir euch wünsche ebenfalls gleichfalls mal"
        ),
        phrases="schönen tag,schönen tag noch,schönen abend,schönen abend noch,bis bald,bis dann",
    ),
    "fr": ShortWords.of(
        YES_AND_NO["fr"],
        as_yes="si d'accord bien sûr exact exactement tout à fait s'il vous plaît",
        agreeing="bon parfait très super entendu ça va marche me c'est noté",
        listening="eh euh heu ben bah hein je vois comprends compris vraiment cool génial voilà ok",
        wanting=(
            "stop arrêtez arrête attendez attends non pas faux pardon excusez-moi excusez moi désolé désolée quoi"
            " comment"
            " allô aide opérateur opératrice conseiller personne répétez répéter encore retour annulez annuler un une"
            " moment minute seconde instant"
        ),
        farewells="revoir adieu ciao bye",
        company=(
            "au merci beaucoup bien et à bientôt plus tard demain bonne journée soirée fin de ok d'accord non oui"
            " c'est"
            " tout ce sera pour moi je vous remercie alors très parfait super aussi également"
        ),
        phrases="bonne journée,bonne soirée,à bientôt,à plus tard",
    ),
    "es": ShortWords.of(
        YES_AND_NO["es"],
        as_yes="exacto exactamente correcto por supuesto favor efectivamente desde luego eso es",
        agreeing="bien bueno perfecto genial de acuerdo muy está ajá",
        listening="ya entiendo veo comprendo entendido en serio eh este pues anda",
        wanting=(
            "para pare espera espere alto no mal perdón disculpe perdone qué cómo hola oiga ayuda operador operadora"
            " agente persona repita repetir otra vez atrás cancelar un momento minuto segundo por favor"
        ),
        farewells="adiós adios chao chau",
        company=(
            "muchas gracias muy amable hasta luego pronto mañana la próxima vista ok vale bien bueno perfecto no"
            " sí eso"
            " es todo nada más por ahora que tenga tengas un buen buena día tarde noche igualmente y a usted"
        ),
        phrases="hasta luego,hasta pronto,hasta mañana",
    ),
}
_ANYWHERE: Final = ShortWords.of(
    YesAndNo.of(""),
    as_yes="",
    agreeing="",
    listening="",
    wanting="stop hallo hello",
    farewells="bye bye-bye",
    company="ok okay",
    phrases="",
)
