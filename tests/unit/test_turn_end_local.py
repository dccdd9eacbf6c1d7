"""German, French and Spanish turns: how finished the words sound, written as Whisper writes them."""

import pytest

from media_bridge.turn_end import end_wait_ms, ending
from media_bridge.turn_end_expected import Expected, Kind, expected_answer
from media_bridge.turn_end_local import LOCAL_WORDS
from media_bridge.turn_end_waits import Ending, EndWaits

WAITS = EndWaits.around(700)
OPEN = {
    "de": [
        "Ich hätte gern einen.", "Meine Nummer ist", "Ich rufe an wegen", "Ich wollte fragen, ob",
        "Das Rad ist kaputt und", "Ich brauche einen Termin für", "Ähm.", "Wir kommen am", "Ich heiße",
        "Der Zug fährt um 8 in", "Guten Tag, also...", "Mein Name ist",
    ],
    "fr": [
        "Je voudrais prendre un", "Mon numéro est le", "Je vous appelle pour", "Je voulais savoir si",
        "Le vélo est cassé et", "Euh.", "Nous arrivons à", "Je m'appelle", "J'ai besoin de", "C'est pour mon",
    ],
    "es": [
        "Quisiera reservar una", "Mi número es el", "Llamo por", "Quería saber si", "La bicicleta está rota y", "Eh.",
        "Llegamos a", "Me llamo", "Necesito", "Es para mi",
    ],
}  # fmt: skip
FINISHED = {
    "de": [
        "Ja, bitte.", "Nein danke.", "Genau.", "Wann haben Sie geöffnet?", "Können Sie mir helfen?", "Vielen Dank.",
        "Was kostet das?", "Das ist alles.", "Haben Sie auch am Sonntag offen?", "Das weiß ich nicht.",
    ],
    "fr": [
        "Oui, s'il vous plaît.", "Non merci.", "D'accord, merci.", "À quelle heure ouvrez-vous ?", "Combien ça coûte ?",
        "Pouvez-vous m'aider ?", "C'est tout, merci.", "Je ne sais pas.", "Est-ce que vous êtes ouverts dimanche ?",
    ],
    "es": [
        "Sí, por favor.", "No, gracias.", "¿A qué hora abren?", "¿Cuánto cuesta?", "¿Puede ayudarme?", "Eso es todo.",
        "Muchas gracias.", "No lo sé.", "¿Están abiertos el domingo?",
    ],
}  # fmt: skip
PLAIN = {
    "de": ["Ich möchte mein Fahrrad reparieren lassen.", "Ich weiß nicht, was ich machen soll.", "Weil ich krank bin.",
           "Wir ziehen im Herbst nach Köln.", "Ja, die habe ich.", "Das kann man."],
    "fr": ["Je voudrais faire réparer mon vélo.", "Nous déménageons à Lyon.", "Oui, je les ai."],
    "es": ["Quiero cambiar mi cita.", "Nos mudamos a Sevilla en otoño.", "Sí, lo tengo.",
           "No lo quiero."],
}  # fmt: skip


def of(texts: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(language, text) for language, every in texts.items() for text in every]


@pytest.mark.parametrize(("language", "text"), of(OPEN))
def test_what_cannot_be_all_is_waited_for(language: str, text: str) -> None:
    assert ending(text, None, language) is Ending.TRAILING


@pytest.mark.parametrize(("language", "text"), of(FINISHED))
def test_questions_thanks_and_short_answers_end_soon(language: str, text: str) -> None:
    assert ending(text, None, language) is Ending.FINISHED


@pytest.mark.parametrize(("language", "text"), of(PLAIN))
def test_of_a_whole_statement_the_sound_decides(language: str, text: str) -> None:
    assert ending(text, None, language) is Ending.NEUTRAL
    waits = [end_wait_ms(text, None, WAITS, sounds, language=language) for sounds in (0.95, 0.6, 0.1)]
    assert waits == [500, 760, 900]


def test_a_verb_that_needs_no_more_is_not_waited_for() -> None:
    assert ending("No puedo.", None, "es") is Ending.NEUTRAL


@pytest.mark.parametrize(
    ("language", "said", "more"),
    [("de", "Ja.", "Ja, gerne."), ("fr", "Oui.", "Oui, bien sûr."), ("es", "Sí.", "Sí, claro.")],
)
def test_yes_is_all_that_was_asked_for_only_with_a_word_more(language: str, said: str, more: str) -> None:
    asked = Expected("yes_no")
    assert ending(said, asked, language) is Ending.AGREED
    assert ending(more, asked, language) is Ending.ANSWERED
    assert ending(said, None, language) is Ending.PAUSING


@pytest.mark.parametrize(
    ("language", "some", "whole"),
    [
        ("de", "Null eins sieben zwei", "0172 555 01 38"),
        ("de", "einundzwanzig", "einundzwanzig, 55 50, 13, 82"),
        ("fr", "zéro six, douze", "06 12 34 56 78"),
        ("es", "seis uno dos", "612 34 56 78 9"),
        ("it", "333 12", "333 12 34 56 7"),
    ],
)
def test_digits_that_were_asked_for_are_waited_for(language: str, some: str, whole: str) -> None:
    asked = Expected("digits", 10)
    assert ending(some, asked, language) is Ending.LISTING
    assert ending(whole, asked, language) is Ending.ANSWERED
    assert ending(some, Expected("digits"), language) is Ending.LISTING


@pytest.mark.parametrize(
    ("language", "begun", "whole"),
    [
        ("de", "anna punkt weber", "anna punkt weber ät example punkt de"),
        ("fr", "anna point dupont arobase", "anna.dupont@example.fr"),
        ("es", "ana punto ruiz arroba", "ana@example.es"),
    ],
)
def test_an_address_is_waited_for(language: str, begun: str, whole: str) -> None:
    asked = Expected("email")
    assert ending(begun, asked, language) in (Ending.LISTING, Ending.TRAILING)
    assert ending(whole, asked, language) is Ending.COMPLETE


@pytest.mark.parametrize("language", ["it", "ja", "xx"])
def test_an_unknown_language_has_its_figures_and_its_marks(language: str) -> None:
    assert ending("Vorrei prenotare,", None, language) is Ending.TRAILING
    assert ending("A che ora aprite?", None, language) is Ending.FINISHED
    assert ending("Vorrei prenotare un tavolo.", None, language) is Ending.NEUTRAL
    assert ending("...", None, language) is Ending.LISTING


def test_english_function_words_mean_nothing_in_another_language() -> None:
    assert ending("Ich rufe Sie an, was ist das?", None, "de") is Ending.FINISHED
    assert ending("Das war mal so.", None, "de") is Ending.NEUTRAL
    assert ending("That was so.", None, "en") is ending("That was so.")


@pytest.mark.parametrize("language", LOCAL_WORDS)
def test_the_words_of_one_table_do_not_contradict_another(language: str) -> None:
    known = LOCAL_WORDS[language]
    assert known.open_ends.isdisjoint(known.verbs | known.perhaps)
    assert all(figure.isdecimal() for figure in known.numbers.values())


@pytest.mark.parametrize(
    ("language", "question", "kind"),
    [
        ("de", "Wie lautet Ihre Telefonnummer?", "digits"),
        ("de", "Können Sie Ihren Namen buchstabieren?", "spelling"),
        ("de", "Wann sind Sie geboren?", "date"),
        ("de", "Wie ist Ihre E-Mail-Adresse?", "email"),
        ("de", "Möchten Sie einen Termin?", "yes_no"),
        ("de", "Das macht 20 Euro. Ist das in Ordnung?", "yes_no"),
        ("de", "Möchten Sie Montag oder Dienstag?", None),
        ("de", "Wie kann ich Ihnen helfen?", None),
        ("fr", "Quel est votre numéro de téléphone ?", "digits"),
        ("fr", "Pouvez-vous épeler votre nom ?", "spelling"),
        ("fr", "Quelle est votre date de naissance ?", "date"),
        ("fr", "Voulez-vous un rendez-vous ?", "yes_no"),
        ("fr", "Est-ce que cela vous convient ?", "yes_no"),
        ("fr", "Que puis-je faire pour vous ?", None),
        ("es", "¿Cuál es su número de teléfono?", "digits"),
        ("es", "¿Puede deletrear su apellido?", "spelling"),
        ("es", "¿Cuál es su fecha de nacimiento?", "date"),
        ("es", "¿Quiere usted una cita?", "yes_no"),
        ("es", "¿Es correcto?", "yes_no"),
        ("es", "¿En qué puedo ayudarle?", None),
        ("it", "È corretto?", None),
    ],
)
def test_what_the_bot_asked_for(language: str, question: str, kind: Kind | None) -> None:
    asked = expected_answer(question, language)
    assert (asked.kind if asked else None) == kind
