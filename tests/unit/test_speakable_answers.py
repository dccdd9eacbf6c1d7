"""Sentences as models write them, and what the voice is given: by kind of number, sign or address."""

import pytest

from stasis_app.sentences import SentenceChunker
from stasis_app.speakable import Speakable, speakable

SIGNS = [
    ("en", "Your balance is −$50.", "Your balance is minus 50 dollars."),
    ("en", "Your balance is -$50.25.", "Your balance is minus 50 dollars and 25 cents."),
    ("en", "The change is $-5 or £−5.", "The change is minus 5 dollars or minus 5 pounds."),
    ("en", "It is −5 °C.", "It is minus 5 degrees Celsius."),
    ("en", "-5 degrees tonight.", "minus 5 degrees tonight."),
    ("en", "From -10 to –5 °C.", "From minus 10 to minus 5 degrees Celsius."),
    ("en", "Open 9‑5, or 9‒5, or 9‐5.", "Open 9 to 5, or 9 to 5, or 9 to 5."),
    ("en", "Call 555‑1234.", "Call 5 5 5, 1 2 3 4."),
    ("en", "Yes ― of course.", "Yes — of course."),
    ("en", "- two bikes", "two bikes."),
    ("de", "Es sind −5 °C, das sind −50 €.", "Es sind minus 5 Grad Celsius, das sind minus 50 Euro."),
    ("de", "-5 Grad heute Nacht.", "minus 5 Grad heute Nacht."),
    (
        "fr",
        "Il fait −5 °C, le solde est -50,25 €.",
        "Il fait moins 5 degrés Celsius, le solde est moins 50 euros 25.",
    ),
    ("es", "Hace −5 °C y su saldo es -5 €.", "Hace menos 5 grados Celsius y su saldo es menos 5 euros."),
    ("hi", "−5 km", "-5 किलोमीटर"),
    ("xx-nowhere", "−5 x", "-5 x"),
]
A_PIECE = [
    ("en", "It is $20/visit, $15/class.", "It is 20 dollars per visit, 15 dollars per class."),
    ("en", "It is $8/lb. this week.", "It is 8 dollars per pound this week."),
    ("en", "It is $2/min. after that.", "It is 2 dollars per minute after that."),
    ("en", "A 10-15 min. walk.", "A 10 to 15 minutes walk."),
    ("en", "It is 3 mi. away.", "It is 3 miles away."),
    ("en", "We are at 1200 W. Main St. today.", "We are at 1200 West Main Street today."),
]
SUMS_AND_RATIOS = [
    ("en", "5 - 3 = 2.", "5 minus 3 equals 2."),
    ("en", "3 * -2 = -6.", "3 times minus 2 equals minus 6."),
    ("en", "10 / 2 = 5 and 6 × 7 = 42.", "10 divided by 2 equals 5 and 6 times 7 equals 42."),
    ("en", "3² and x^2.", "3 squared and x squared."),
    ("en", "If x <= 3.", "If x at most 3."),
    ("en", "The ratio is 3:1, on a 16:9 screen.", "The ratio is 3 to 1, on a 16 to 9 screen."),
    ("en", "The room is 3 x 4 m.", "The room is 3 by 4 meters."),
    ("de", "5 - 3 = 2.", "5 minus 3 gleich 2."),
    ("de", "Es steht 2:1.", "Es steht 2 zu 1."),
    ("fr", "6 × 7 = 42.", "6 fois 7 égale 42."),
    ("es", "2 + 2 = 4.", "2 más 2 igual a 4."),
]
DATES = [
    ("en", "It is 12/25/2026.", "It is December 25, 2026."),
    ("en", "On 1/2 we open, on 2/3/2027 we close.", "On January 2 we open, on February 3, 2027 we close."),
    ("en", "Born on 07/04/76.", "Born on July 4, 1976."),
    ("en", "From 3/1 to 3/15 we are closed.", "From March 1 to March 15 we are closed."),
    ("en", "It is 25/12/2026, or 25.12.2026.", "It is December 25, 2026, or December 25, 2026."),
    ("en", "Due 12-25-2026.", "Due December 25, 2026."),
    ("en", "At 2026-12-25T10:00:00Z.", "At December 25, 2026 at 10 o'clock."),
    ("en", "On 13/13/2026.", "On 13, 13, 2026."),
    ("en-GB", "On 1/2 we open, on 12/5/2026 we close.", "On 1 February we open, on 12 May 2026 we close."),
    ("de", "24. Dezember ist geschlossen.", "vierundzwanzigster Dezember ist geschlossen."),
    ("de", "1. Mai ist Feiertag.", "erster Mai ist Feiertag."),
    ("de", "3. bis 5. Mai.", "dritter bis fünfter Mai."),
    ("de", "25. und 26. Dezember.", "fünfundzwanzigster und sechsundzwanzigster Dezember."),
    ("de", "Heute ist der 3. Dezember.", "Heute ist der dritte Dezember."),
    ("de", "Am Mittwoch, 7.1.2026.", "Am Mittwoch, siebten Januar 2026."),
    ("de", "Am 24.12. und 31.12.", "Am vierundzwanzigsten Dezember und einunddreißigsten Dezember."),
    ("de", "Im 2. Stock, in der 3. Etage.", "Im zweiten Stock, in der dritten Etage."),
    ("de", "Jeden 1. und 3. Montag.", "Jeden ersten und dritten Montag."),
    ("de", "Der 1., 2. und 30. Platz.", "Der erste, zweite und dreißigste Platz."),
    ("de", "1. Öffnen Sie die App.", "1, Öffnen Sie die App."),
    ("de", "Am 2026-12-25T10:00.", "Am fünfundzwanzigsten Dezember 2026, 10 Uhr."),
    ("fr", "Du 24/12 au 26/12.", "Du 24 décembre au 26 décembre."),
    ("fr", "Le 25 déc. 2026.", "Le 25 décembre 2026."),
    ("es", "Del 24/12 al 26/12.", "Del 24 de diciembre al 26 de diciembre."),
    ("es", "El 1.º de mayo, 2.ª puerta.", "El 1.º de mayo, 2.ª puerta."),
    ("da", "24. december er lukket.", "24. december er lukket."),
]
FRACTIONS = [
    ("en", "A 4.5/5 rating, 4/5 stars.", "A 4.5 out of 5 rating, 4 out of 5 stars."),
    ("en", "Use 5/8 inch, add 1 1/2 cups.", "Use five eighths inch, add 1 and a half cups."),
    ("en", "From 1/2 to 3/4 cup.", "From one half to three quarters cup."),
    ("en", "It is 50/50, 24/7.", "It is 50 50, 24 7."),
    ("en", "On 24/7 support.", "On 24 7 support."),
]
TOLD_ONE_BY_ONE = [
    ("en", "Your order number is 48-15-16.", "Your order number is 4 8, 1 5, 1 6."),
    ("en", "The code is 4-8-1-5.", "The code is 4, 8, 1, 5."),
    ("en", "My number is 123-45-6789.", "My number is 1 2 3, 4 5, 6 7 8 9."),
    ("en", "Invoice 2026-00123.", "Invoice 2 0 2 6, 0 0 1 2 3."),
    ("en", "Order #12345, AB-1234, 7F3K9.", "Order number 1 2 3 4 5, A B, 1 2 3 4, 7 F 3 K 9."),
    ("en", "Flight UA-123, gate A-12.", "Flight U A, 1 2 3, gate A-12."),
    ("en", "COVID-19, a Ford F-150, H2O, Q1-2026.", "COVID-19, a Ford F-150, H2O, Q1-2026."),
    ("en", "Open 10:00AM-2PM.", "Open 10 AM to 2 PM."),
    ("en", "Call 1-800-FLOWERS or dial 911.", "Call 1, 8 0 0, FLOWERS or dial 9 1 1."),
    (
        "en",
        "Your card ends in 4242, the offer ends in 2026.",
        "Your card ends in 4 2 4 2, the offer ends in 2026.",
    ),
    ("en", "Springfield, IL 62704.", "Springfield, IL 6 2 7 0 4."),
    ("en", "It is 192.168.0.1.", "It is 192 dot 168 dot 0 dot 1."),
    ("en", "It is 10.0.0.1:8080.", "It is 10 dot 0 dot 0 dot 1 port 8080."),
    ("en", "50% - 60%", "50% to 60%"),
    ("en", "For 10 000 people, in 10K steps.", "For 10,000 people, in 10 thousand steps."),
    ("de", "Ihre Bestellnummer ist 48-15-16.", "Ihre Bestellnummer ist 4 8, 1 5, 1 6."),
    ("de", "Bestellung Nr. 12345.", "Bestellung Nummer 1 2 3 4 5."),
    ("de", "Tel.: +49 (0)30 123456.", "Telefon: plus 4 9, 3 0, 1 2 3 4 5 6."),
    ("de", "Ca. 1 000 Leute, 10 000 €.", "Circa 1000 Leute, 10000 Euro."),
    ("fr", "Appelez le 01.23.45.67.89.", "Appelez le 0 1, 2 3, 4 5, 6 7, 8 9."),
    ("fr", "Commande n° 12345, 10 000 €.", "Commande numéro 1 2 3 4 5, 10000 euros."),
    ("fr", "Soit 1 000 000 de vélos.", "Soit 1000000 de vélos."),
    (
        "es",
        "Llame al 912 345 678 o al 91 123 45 67.",
        "Llame al 9 1 2, 3 4 5, 6 7 8 o al 9 1, 1 2 3, 4 5, 6 7.",
    ),
    ("es", "Pedido n.º 12345.", "Pedido número 1 2 3 4 5."),
]
TIMES_AND_MONEY = [
    ("en", "It takes 1h 30m.", "It takes 1 hour 30 minutes."),
    ("en", "The 5th–7th of May.", "The 5th to 7th of May."),
    ("en", "Sat & Sun closed, Mon/Wed open.", "Saturday & Sunday closed, Monday or Wednesday open."),
    ("en", "That's €1.299,00.", "That's 1,299 euros."),
    ("de", "Mo–Fr von 9:00–18:00 Uhr.", "Montag bis Freitag von 9 Uhr bis 18 Uhr."),
    ("de", "So. 10–12 Uhr, ab 8.30 Uhr, um 1:00.", "Sonntag 10 bis 12 Uhr, ab 8 Uhr 30, um ein Uhr."),
    ("de", "So 5-10 Leute. Sa 10-14 Uhr.", "So 5 bis 10 Leute. Sa 10 bis 14 Uhr."),
    ("de", "Sa 10-14 Uhr, So 9:00 Uhr.", "Samstag 10 bis 14 Uhr, Sonntag 9 Uhr."),
    ("de", "Es kostet 5€/Monat.", "Es kostet 5 Euro pro Monat."),
    ("fr", "Lun-ven 9h-18h, à 1h.", "Lundi à vendredi 9 heures à 18 heures, à 1 heure."),
    ("es", "De 9:00 a 18:00, a las 10:15.", "De 9 horas a 18 horas, a las 10 y 15."),
    ("es", "A las 9 a.m. y a las 6:30 p.m.", "A las 9 de la mañana y a las 6 y 30 de la tarde."),
    ("pt", "R$ 5,50/mês", "5 Reais brasileiros 50 por mês"),
    ("nl", "ma-vr 9:00 uur", "maandag tot vrijdag 9 uur"),
]
ADDRESSES = [
    ("en", "Use the /help page, w/ or w/o it.", "Use the /help page, with or without it."),
    ("en", "At 42 W 5th Street, on Penn Ave.", "At 42 West 5th Street, on Penn Avenue."),
    ("de", "Mail an a-b@beispiel.de.", "Mail an a Bindestrich b ät beispiel Punkt de."),
    ("fr", "Voir www.exemple.fr/contact.", "Voir exemple point fr barre oblique contact."),
    ("es", "Escriba a info@ejemplo.es.", "Escriba a info arroba ejemplo punto es."),
    ("es", "C/ Mayor, 5.", "calle Mayor, 5."),
    ("de", "Hauptstr. 5.", "Hauptstraße 5."),
]


@pytest.mark.parametrize(
    ("language", "written", "said"),
    [*SIGNS, *A_PIECE, *SUMS_AND_RATIOS, *DATES, *FRACTIONS, *TOLD_ONE_BY_ONE, *TIMES_AND_MONEY, *ADDRESSES],
)
def test_said(language: str, written: str, said: str) -> None:
    assert speakable(written, language) == said


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        ("de", "Das ist Zimmer Nr. 5 im ersten Stock.|Danke."),
        ("de", "Es kostet inkl. 19 % MwSt und ggf. 3 Tage.|Gut."),
        ("de", "Wir sind in der Hauptstr. 5 in Köln.|Kommen Sie."),
        ("de", "Es dauert 2 Std. 30 Min. und zzgl. 5 Tage.|Gut."),
        ("de", "Am Samstag oder So. 10 bis 12.|Gut."),
        ("fr", "Il faut env. 10 minutes.|Merci."),
        ("fr", "C'est le 25 déc. 2026 à midi.|Merci."),
        ("es", "Está en la Avda. 5 y el núm. 7 de la calle.|Gracias."),
        ("nl", "Dat is nr. 5, ca. 10 minuten.|Dank u."),
        ("pt", "Demora aprox. 10 minutos.|Obrigado."),
        ("en", "Your room is 12.|May I help you?"),
        ("de", "Das ist mein Sohn.|5 Jahre ist er alt."),
    ],
)
def test_an_abbreviation_before_a_number_ends_no_sentence(language: str, marked: str) -> None:
    chunker = SentenceChunker(first_chars=200, first_max_chars=200, language=language)
    text = marked.replace("|", " ")
    assert [chunk for char in text for chunk in chunker.feed(char)] + chunker.finish() == marked.split("|")


def test_a_long_text_is_cut_neither_behind_an_abbreviation_nor_in_a_range() -> None:
    chunker, voice = SentenceChunker(first_chars=10, first_max_chars=45), Speakable()
    chunks = chunker.feed("We're open Monday through Friday, 9:00 AM – 6:00 PM.") + chunker.finish()
    assert [voice.feed(chunk) for chunk in chunks] == ["We're open Monday through Friday,", "9 AM to 6 PM."]
    chunker = SentenceChunker(first_chars=10, first_max_chars=45, language="es")
    chunks = chunker.feed("Le atiende mañana por la tarde el Sr. Hernández Gutiérrez.") + chunker.finish()
    assert not any(chunk.endswith("Sr.") for chunk in chunks)
