"""What the CLDR data does not tell of a language: abbreviations, words around times and ranges. Data only."""

from typing import Final

ABBREVIATIONS: Final[dict[str, dict[str, str]]] = {
    "de": {
        "z.B.": "zum Beispiel", "z. B.": "zum Beispiel", "d.h.": "das heißt", "d. h.": "das heißt",
        "u.a.": "unter anderem", "u. a.": "unter anderem", "bzw.": "beziehungsweise", "usw.": "und so weiter",
        "ca.": "circa", "Nr.": "Nummer", "Tel.": "Telefon", "Dr.": "Doktor", "Prof.": "Professor", "Hr.": "Herr",
        "inkl.": "inklusive", "evtl.": "eventuell", "ggf.": "gegebenenfalls", "max.": "maximal", "min.": "mindestens",
        "Mio.": "Millionen", "St.": "Sankt",
    },
    "fr": {
        "M.": "Monsieur", "Mme.": "Madame", "Mlle.": "Mademoiselle", "Dr.": "docteur", "p. ex.": "par exemple",
        "p.ex.": "par exemple", "etc.": "et cetera", "env.": "environ", "tél.": "téléphone", "max.": "maximum",
        "av.": "avenue", "bd.": "boulevard",
    },
    "es": {
        "Sr.": "señor", "Sra.": "señora", "Srta.": "señorita", "Dr.": "doctor", "Dra.": "doctora",
        "p. ej.": "por ejemplo", "p.ej.": "por ejemplo", "etc.": "etcétera", "aprox.": "aproximadamente",
        "núm.": "número", "tel.": "teléfono", "Avda.": "avenida", "Ud.": "usted", "Uds.": "ustedes", "máx.": "máximo",
    },
    "it": {
        "sig.": "signor", "sig.ra": "signora", "dott.": "dottor", "dott.ssa": "dottoressa", "ecc.": "eccetera",
        "ca.": "circa", "tel.": "telefono", "max.": "massimo", "p.es.": "per esempio", "ad es.": "ad esempio",
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

AFTER_ORDINAL: Final[dict[str, frozenset[str]]] = {
    "de": frozenset(
        "stock etage obergeschoss untergeschoss platz mal tag klasse quartal halbjahr jahrhundert rate".split()
    ),
}
"""Nouns before which "2." is an ordinal; month names are known anyway."""

HOUR: Final = {"de": "Uhr", "fr": "heures", "nl": "uur", "pt": "horas"}
"""Stands between hours and minutes: "14 Uhr 30"."""

HOUR_MARKS: Final = {
    "de": "Uhr",
    "fr": "heures|h",
    "nl": "uur|u",
    "pt": "horas|h",
    "es": "horas|h",
    "it": "ore|h",
}

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
