"""Words of headers and rows in English, German, French and Polish."""

from __future__ import annotations

import re
import unicodedata


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9])(?:{'|'.join(words.split())})(?![a-z0-9])")


_PLAIN = str.maketrans({"ł": "l", "ß": "ss", "ø": "o", "æ": "ae", "đ": "d", "œ": "oe"})
NAME = _pattern(
    "name tag tagname tag_name point pointname meter meterid meter_id zahler zaehler zahlernummer "
    "zahlpunkt zaehlpunkt zahlpunktbezeichnung messlokation marktlokation malo melo licznik "
    "nr_licznika ppe kod_ppe punkt entity device sensor station anlage site asset compteur pdl prm "
    "obiekt nazwa bezeichnung series serie signal channel kanal feeder identifiant"
)
STATUS = _pattern(
    "status quality qualitat qualitaet jakosc qualite flag validity etat state gultigkeit"
)
UNIT = _pattern("unit units uom einheit jednostka unite")
ROW_NUMBER = _pattern("lp nr no index row lfd ligne zeile wiersz")
HOUR = _pattern("hour hours he stunde std godzina godz heure h hourending")
START = _pattern("start begin beginning von from od poczatek anfang beginn debut")
END = _pattern("end ending ende bis to do koniec fin")
TOTAL = _pattern(
    "total totals totaux sum summe suma somme razem lacznie gesamt gesamtsumme insgesamt average "
    "avg mean mittelwert durchschnitt srednia moyenne max min maximum minimum maksimum"
)
ANY_VALUE = _pattern(
    "value values val wert werte messwert wartosc valeur power leistung moc puissance energy "
    "energie energia reading lastgang p"
)
BAD_STATUS = _pattern(
    "bad invalid error fault faulty fehler ungultig blad bledny invalide mauvais false nok"
)


def plain(text: str) -> str:
    """Text in lower case and without accents, to compare it with the words."""
    letters = unicodedata.normalize("NFKD", text.lower().translate(_PLAIN))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def has_word(text: str, words: re.Pattern[str]) -> bool:
    """Whether a text has one of the words in it."""
    return bool(words.search(plain(text)))


def is_word(text: str, words: re.Pattern[str]) -> bool:
    """Whether a text is one of the words, apart from marks around it."""
    return bool(words.fullmatch(plain(text).strip(" .:#_-°")))


def entity_name(source: str) -> str:
    """A name that the service accepts: letters, digits, space, dot, dash and underscore."""
    signed = re.sub(r"\+$", " plus", re.sub(r"-$", " minus", source.strip()))  # A+ and A-
    letters = unicodedata.normalize("NFKD", signed.translate(_PLAIN).replace("Ł", "L"))
    ascii_only = "".join(letter for letter in letters if not unicodedata.combining(letter))
    safe = " ".join(re.sub(r"[^A-Za-z0-9 _.-]+", "_", ascii_only).split()).strip(" _.-")[:100]
    return "power" if safe in {"", "time"} else safe
