"""A question that begins with its verb wants a yes or a no, whatever nouns follow; unless it asks for it."""

import pytest

from media_bridge.turn_end import ending
from media_bridge.turn_end_expected import Kind, expected_answer
from media_bridge.turn_end_waits import Ending
from stasis_app.expecting import asked_for

QUESTIONS: list[tuple[str, str, Kind | None]] = [
    ("en", "Shall I send the confirmation to your email?", "yes_no"),
    ("en", "Did you receive our e-mail?", "yes_no"),
    ("en", "Is your phone number still the same?", "yes_no"),
    ("en", "And is that the number on your card?", "yes_no"),
    ("en", "Can I call you back on this number?", "yes_no"),
    ("en", "Can you confirm that your account number ends in 42?", "yes_no"),
    ("en", "Is there a problem with your email?", "yes_no"),
    ("en", "Would you like me to spell it?", "yes_no"),
    ("en", "Would you prefer a call or an email?", None),
    ("en", "Would you like to book, or is there anything else?", "yes_no"),
    ("en", "Can I have your phone number?", "digits"),
    ("en", "Could you please give me your account number?", "digits"),
    ("en", "Could you confirm your order number?", "digits"),
    ("en", "Do you have your order number?", "digits"),
    ("en", "Is there a phone number where we can reach you?", "digits"),
    ("en", "May I ask for your e-mail address?", "email"),
    ("en", "Could you tell me your date of birth?", "date"),
    ("en", "Can you spell that?", "spelling"),
    ("en", "And your e-mail address?", "email"),
    ("en", "Why are you calling about your card number?", "digits"),
    ("en", "Why do you want to return it?", "open"),
    ("de", "Soll ich die Bestätigung an Ihre E-Mail schicken?", "yes_no"),
    ("de", "Haben Sie unsere E-Mail bekommen?", "yes_no"),
    ("de", "Ist Ihre Telefonnummer noch dieselbe?", "yes_no"),
    ("de", "Möchten Sie einen Anruf oder eine E-Mail?", None),
    ("de", "Können Sie mir Ihre E-Mail-Adresse nennen?", "email"),
    ("de", "Haben Sie eine Kundennummer?", "digits"),
    ("de", "Kann ich bitte Ihre Telefonnummer haben?", "digits"),
    ("de", "Und Ihre E-Mail-Adresse?", "email"),
    ("fr", "Avez-vous reçu notre e-mail ?", "yes_no"),
    ("fr", "Est-ce que votre numéro de téléphone est toujours le même ?", "yes_no"),
    ("fr", "Voulez-vous la confirmation par e-mail ?", "yes_no"),
    ("fr", "Votre e-mail est-il toujours le même ?", "yes_no"),
    ("fr", "Préférez-vous un appel ou un e-mail ?", None),
    ("fr", "Puis-je avoir votre e-mail ?", "email"),
    ("fr", "Avez-vous un numéro de client ?", "digits"),
    ("fr", "Et votre e-mail ?", "email"),
    ("es", "¿Le envío la confirmación a su correo?", "yes_no"),
    ("es", "¿Ha recibido nuestro correo?", "yes_no"),
    ("es", "¿Sigue siendo el mismo su número de teléfono?", "yes_no"),
    ("es", "¿Prefiere una llamada o un correo?", None),
    ("es", "¿Me da su correo?", "email"),
    ("es", "¿Puede decirme su número de teléfono?", "digits"),
    ("es", "¿Tiene un número de cliente?", "digits"),
    ("es", "¿Y su correo electrónico?", "email"),
]


@pytest.mark.parametrize(("language", "question", "kind"), QUESTIONS)
def test_what_the_bot_asked_for(language: str, question: str, kind: Kind | None) -> None:
    asked = expected_answer(question, language)
    assert (asked.kind if asked else None) == kind


@pytest.mark.parametrize(
    ("language", "question", "answers"),
    [
        (
            "en",
            "Shall I send the confirmation to your email?",
            ["That's fine.", "That would be great.", "By text message."],
        ),
        ("en", "Did you receive our email?", ["Not yet.", "It never arrived.", "I didn't see it."]),
        ("en", "Would you prefer a call or an email?", ["A call, please.", "The email."]),
        ("en", "Is your phone number still the same?", ["It's changed.", "Yes, it is.", "I have a new one."]),
        ("de", "Haben Sie unsere E-Mail bekommen?", ["Noch nicht.", "Ja, gestern."]),
        ("fr", "Avez-vous reçu notre e-mail ?", ["Pas encore.", "Oui, hier."]),
        ("es", "¿Ha recibido nuestro correo?", ["Todavía no.", "Sí, ayer."]),
    ],
)
def test_its_answers_are_no_dictation(language: str, question: str, answers: list[str]) -> None:
    asked = asked_for(question, language)
    for answer in answers:
        assert ending(answer, asked, language) not in (Ending.LISTING, Ending.TRAILING, Ending.HANGING)
