"""What the CLDR data does not tell of a language: abbreviations, words around times and ranges. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Signs:
    """How signs between and before numbers are said; `ratio` as in "3:1"."""

    minus: str
    plus: str
    times: str
    divided: str
    equals: str
    ratio: str

    def of(self, operator: str) -> str:
        """Of one of + - – * x × / ÷ =."""
        words = {"+": self.plus, "/": self.divided, "÷": self.divided, "=": self.equals}
        return self.minus if operator in "-–" else words.get(operator, self.times)


SIGNS: Final[Mapping[str, Signs]] = {
    "en": Signs("minus", "plus", "times", "divided by", "equals", "to"),
    "de": Signs("minus", "plus", "mal", "geteilt durch", "gleich", "zu"),
    "fr": Signs("moins", "plus", "fois", "divisé par", "égale", "à"),
    "es": Signs("menos", "más", "por", "entre", "igual a", "a"),
    "it": Signs("meno", "più", "per", "diviso", "uguale a", "a"),
    "nl": Signs("min", "plus", "keer", "gedeeld door", "is", "op"),
    "pt": Signs("menos", "mais", "vezes", "dividido por", "igual a", "para"),
    "pl": Signs("minus", "plus", "razy", "podzielić przez", "równa się", "do"),
    "sv": Signs("minus", "plus", "gånger", "delat med", "är lika med", "till"),
    "da": Signs("minus", "plus", "gange", "divideret med", "er lig med", "til"),
}

ADDRESS_MARKS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {"@": "at", ".": "dot", "-": "dash", "_": "underscore", "+": "plus", "/": "slash"},
    "de": {"@": "ät", ".": "Punkt", "-": "Bindestrich", "_": "Unterstrich", "+": "plus", "/": "Schrägstrich"},
    "fr": {"@": "arobase", ".": "point", "-": "tiret", "_": "tiret bas", "+": "plus", "/": "barre oblique"},
    "es": {"@": "arroba", ".": "punto", "-": "guion", "_": "guion bajo", "+": "más", "/": "barra"},
    "it": {"@": "chiocciola", ".": "punto", "-": "trattino", "_": "trattino basso", "+": "più", "/": "barra"},
    "nl": {
        "@": "apenstaartje",
        ".": "punt",
        "-": "streepje",
        "_": "laag streepje",
        "+": "plus",
        "/": "schuine streep",
    },
    "pt": {"@": "arroba", ".": "ponto", "-": "hífen", "_": "sublinhado", "+": "mais", "/": "barra"},
}
"""How the marks of a mail or web address are read out."""

ABBREVIATIONS: Final[dict[str, dict[str, str]]] = {
    "de": {
        "z.B.": "zum Beispiel", "z. B.": "zum Beispiel", "d.h.": "das heißt", "d. h.": "das heißt",
        "u.a.": "unter anderem", "u. a.": "unter anderem", "bzw.": "beziehungsweise", "usw.": "und so weiter",
        "ca.": "circa", "Nr.": "Nummer", "Tel.": "Telefon", "Dr.": "Doktor", "Prof.": "Professor", "Hr.": "Herr",
        "inkl.": "inklusive", "evtl.": "eventuell", "ggf.": "gegebenenfalls", "max.": "maximal", "min.": "mindestens",
        "Mio.": "Millionen", "Mrd.": "Milliarden", "St.": "Sankt", "Std.": "Stunden", "Min.": "Minuten",
        "Abs.": "Absatz", "zzgl.": "zuzüglich", "exkl.": "exklusive", "mind.": "mindestens",
        "tägl.": "täglich", "Fr.": "Frau", "Stk.": "Stück", "vgl.": "vergleiche", "bspw.": "beispielsweise",
        "MwSt.": "Mehrwertsteuer", "MwSt": "Mehrwertsteuer",
    },
    "fr": {
        "M.": "Monsieur", "Mme.": "Madame", "Mlle.": "Mademoiselle", "Dr.": "docteur", "p. ex.": "par exemple",
        "p.ex.": "par exemple", "etc.": "et cetera", "env.": "environ", "tél.": "téléphone", "max.": "maximum",
        "av.": "avenue", "bd.": "boulevard", "n°": "numéro", "nº": "numéro", "Mme": "Madame", "Mlle": "Mademoiselle",
        "MM.": "Messieurs", "min.": "minutes", "chap.": "chapitre",
    },
    "es": {
        "Sr.": "señor", "Sra.": "señora", "Srta.": "señorita", "Dr.": "doctor", "Dra.": "doctora",
        "p. ej.": "por ejemplo", "p.ej.": "por ejemplo", "etc.": "etcétera", "aprox.": "aproximadamente",
        "núm.": "número", "tel.": "teléfono", "Avda.": "avenida", "Ud.": "usted", "Uds.": "ustedes", "máx.": "máximo",
        "n.º": "número", "nº": "número", "mín.": "mínimo", "pág.": "página",
        "incl.": "incluido", "C/": "calle",
    },
    "it": {
        "sig.": "signor", "sig.ra": "signora", "dott.": "dottor", "dott.ssa": "dottoressa", "ecc.": "eccetera",
        "ca.": "circa", "tel.": "telefono", "max.": "massimo", "p.es.": "per esempio", "ad es.": "ad esempio",
        "n.": "numero", "pag.": "pagina", "art.": "articolo",
    },
    "nl": {
        "bijv.": "bijvoorbeeld", "bv.": "bijvoorbeeld", "enz.": "enzovoort", "ca.": "circa", "nr.": "nummer",
        "tel.": "telefoon", "dhr.": "de heer", "mevr.": "mevrouw", "dr.": "dokter", "d.w.z.": "dat wil zeggen",
        "max.": "maximaal", "incl.": "inclusief",
    },
    "pt": {
        "Sr.": "senhor", "Sra.": "senhora", "Dr.": "doutor", "Dra.": "doutora", "p. ex.": "por exemplo",
        "etc.": "et cetera", "aprox.": "aproximadamente", "tel.": "telefone", "Av.": "avenida", "máx.": "máximo",
    },
}  # fmt: skip
"""What is always followed by more, or is at least no sentence's end, and how it is said."""

ABBREVIATED_ENDINGS: Final[Mapping[str, tuple[str, ...]]] = {"de": ("str",)}
"""Of whole classes of words, as in "Hauptstr. 5"."""

AFTER_ORDINAL: Final[dict[str, frozenset[str]]] = {
    "de": frozenset(
        (
            "stock stockwerk etage og ug obergeschoss untergeschoss platz mal tag klasse quartal halbjahr jahrhundert"
            " rate reihe gang abschnitt"
        ).split()
    ),
}
"""Nouns before which "2." is an ordinal; month names are known anyway."""

HOUR: Final[Mapping[str, tuple[str, str, str]]] = {
    "de": ("ein Uhr", "{} Uhr", " {}"),
    "fr": ("1 heure", "{} heures", " {}"),
    "nl": ("1 uur", "{} uur", " {}"),
    "pt": ("1 hora", "{} horas", " e {}"),
    "es": ("1 hora", "{} horas", " y {}"),
    "it": ("1", "{}", " e {}"),
}
"""One o'clock, another hour, and what its minutes add: "14 Uhr" and "14 Uhr 30"."""

MINUTES_WITHOUT_HOUR_WORD: Final = frozenset({"es", "pt", "it"})
"""There it is "10 y 15", not "10 horas y 15", which is a time that passes."""

HOUR_MARKS: Final = {
    "de": "Uhr",
    "fr": "heures|h",
    "nl": "uur|u",
    "pt": "horas|h",
    "es": "horas|h",
    "it": "ore|h",
}

HALF_DAYS: Final[Mapping[str, tuple[str, str, str]]] = {
    "es": ("de la mañana", "de la tarde", "de la noche"),
    "pt": ("da manhã", "da tarde", "da noite"),
}
"""For "a.m.", and for "p.m." before and after 8."""

TO: Final = {
    "de": "bis",
    "fr": "à",
    "es": "a",
    "it": "a",
    "nl": "tot",
    "pt": "a",
    "pl": "do",
    "sv": "till",
    "da": "til",
}
"""Of a range."""

PER: Final = {"de": "pro", "fr": "par", "es": "por", "it": "al", "nl": "per", "pt": "por"}
"""As in "5 €/Monat"."""

BEFORE_DATE: Final = {
    "fr": "le|du|au|jusqu'au|depuis le",
    "es": "el|del|al",
    "it": "il|dal|al|del",
    "pt": "em|dia|de|até|a partir de",
    "nl": "op|van|tot|vanaf",
}
"""Behind these "24/12" is a day and a month."""

PHONES: Final = {
    "fr": r"0\d(?:[. -]\d{2}){4}",
    "es": r"(?:[6-9]\d{2}(?: \d{3}){2}|[6-9]\d{2}(?: \d{2}){3}|[89]\d \d{3} \d{2} \d{2})",
    "pt": r"[29]\d{2}(?: \d{3}){2}",
    "it": r"3\d{2} \d{6,7}",
}
"""Numbers of the country's own plan that do not begin with a zero, or have dots in them."""

CODE_WORDS: Final = {
    "en": r"numbers?|codes?|PIN|ID|zip|extension|account|(?:card|account|number) (?:ending|that ends|ends) in",
    "de": r"\w*nummer|\w*code|PIN|Postleitzahl|PLZ",
    "fr": r"numéro|code(?: postal)?|référence|poste",
    "es": r"número|código(?: postal)?|referencia|extensión",
    "it": r"numero|codice|interno",
    "nl": r"\w*nummer|\w*code|pincode|toestel",
    "pt": r"número|código|referência|ramal",
}
"""Behind these four and more figures are told one by one."""

IS: Final = {
    "en": "is|was|is:",
    "de": "ist|lautet|war",
    "fr": "est|est le|est la",
    "es": "es|es el|es la",
    "it": "è|è il",
    "nl": "is",
    "pt": "é|é o",
}
"""May stand between the two."""
