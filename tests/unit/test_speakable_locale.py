"""Money, dates, times, units and numbers in other languages than English."""

import pytest

from stasis_app.sentences import SentenceChunker
from stasis_app.speakable import speakable


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("Das kostet 19,99 €.", "Das kostet 19 Euro 99."),
        ("Das kostet 19.99 €.", "Das kostet 19 Euro 99."),
        ("Das kostet € 20.", "Das kostet 20 Euro."),
        ("Es sind 1.250 EUR im Jahr.", "Es sind 1250 Euro im Jahr."),
        ("Es kostet $5.", "Es kostet 5 US-Dollar."),
        ("Am 3.12.2026 um 14:30 Uhr.", "Am dritten Dezember 2026 um 14 Uhr 30."),
        ("Am 3.12. ab 9:00 Uhr.", "Am dritten Dezember ab 9 Uhr."),
        ("Wir sehen uns am 3.12.", "Wir sehen uns am dritten Dezember."),
        ("Am 2026-12-03.", "Am dritten Dezember 2026."),
        ("Am 31.2.2026.", "Am 31.2.2026."),
        ("Es sind 5 km, also 3,5 kg.", "Es sind 5 Kilometer, also 3,5 Kilogramm."),
        ("Bei 20 °C und 50%.", "Bei 20 Grad Celsius und 50%."),
        ("Rufen Sie 0551 123456 an.", "Rufen Sie 0 5 5 1, 1 2 3 4 5 6 an."),
        ("Oder +49 551 1234.", "Oder plus 4 9, 5 5 1, 1 2 3 4."),
        ("Mo-Fr 9-18 Uhr.", "Montag bis Freitag 9 bis 18 Uhr."),
        (
            "Ein Schloss, z.B. ein Bügelschloss, bzw. zwei.",
            "Ein Schloss, zum Beispiel ein Bügelschloss, beziehungsweise zwei.",
        ),
        ("**Fett** und `Code` 😀", "Fett und Code"),
    ],
)
def test_german(written: str, said: str) -> None:
    assert speakable(written, "de") == said


@pytest.mark.parametrize(
    ("language", "written", "said"),
    [
        (
            "fr",
            "Cela coûte 19,50 € le 14/07/2026 à 14h30.",
            "Cela coûte 19 euros 50 le 14 juillet 2026 à 14 heures 30.",
        ),
        ("fr", "Il y a 5 km.", "Il y a 5 kilomètres."),
        ("es", "Cuesta 1 € el 3/12/2026.", "Cuesta 1 euro el 3 de diciembre de 2026."),
        ("it", "Costa 20 € per 3 kg.", "Costa 20 euro per 3 chilogrammi."),
        (
            "nl",
            "Het kost 20 € op 3-12-2026, bijv. om 9:00 uur.",
            "Het kost 20 euro op 3 december 2026, bijvoorbeeld om 9 uur.",
        ),
        ("pt-BR", "Custa R$ 20.", "Custa 20 Reais brasileiros."),
        ("pl", "To kosztuje 5 zł.", "To kosztuje 5 złotych polskich."),
        ("hi", "यह 5 km है।", "यह 5 किलोमीटर है।"),
        ("en-US", "It costs $19.", "It costs 19 dollars."),
    ],
)
def test_other_languages(language: str, written: str, said: str) -> None:
    assert speakable(written, language) == said


def split(text: str, language: str) -> list[str]:
    chunker = SentenceChunker(first_chars=200, first_max_chars=200, language=language)
    return [chunk for char in text for chunk in chunker.feed(char)] + chunker.finish()


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        ("de", "Am 3. Dezember ist zu.|Am 4. Januar auch."),
        ("de", "Im 2. Stock links.|Dann rechts."),
        ("de", "Ihr Zimmer ist 12.|Das Frühstück ist um 7."),
        ("de", "Das ist z.B. Herr Meier bzw. Frau Schmidt.|Danke."),
        ("de", "Fragen Sie Dr. Schmidt.|Er weiß es."),
        ("fr", "Demandez à M. Dupont.|Il sait."),
        ("es", "Pregunte al Sr. García.|Él sabe."),
        ("it", "Chieda al sig. Rossi.|Lui sa."),
        ("nl", "Vraag dhr. Jansen.|Hij weet het."),
        ("en", "Your room is 12.|Breakfast is at 7."),
    ],
)
def test_where_a_full_stop_ends_a_sentence(language: str, marked: str) -> None:
    assert split(marked.replace("|", " "), language) == marked.split("|")


@pytest.mark.parametrize(
    "language", "ar cs da el fa fi he hu ja ko nb ro ru sv sw th tr uk vi zh zh-Hant-TW de-AT".split()
)
def test_every_language_has_its_own_money_units_and_dates(language: str) -> None:
    written = "19,99 € 2026-12-03 5 km 3.12.2026 3/12/26 14:30 20 °C 5 m² 1 GB 7 kWh 0551 123456 9-18"
    said = speakable(written, language)
    assert "€" not in said
    assert " km" not in said
    assert "2026-12-03" not in said
