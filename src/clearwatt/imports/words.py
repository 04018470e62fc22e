"""Words of headers and rows, in the eleven languages that docs/import.md names."""

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
    "obiekt nazwa bezeichnung series serie signal channel kanal feeder identifiant cups contador "
    "medidor nombre pod contatore misuratore nome ean elektromer nazev meternummer naam "
    "cpe matare matpunkt anlaggning anlaggningsid mero meroora meropont azonosito"
)
STATUS = _pattern(
    "status quality qualitat qualitaet jakosc qualite flag validity etat state gultigkeit estado "
    "calidad stato qualita stav kvalita kwaliteit qualidade "
    "kvalitet statusz minoseg"
)
UNIT = _pattern(
    "unit units uom einheit jednostka unite unidad unita jednotka eenheid unidade "
    "enhet mertekegyseg"
)
ROW_NUMBER = _pattern(
    "lp nr no index row lfd ligne zeile wiersz num riga radek poradi rij linha rad sorszam"
)
HOUR = _pattern(
    "hour hours he stunde std godzina godz heure h hourending hora ora hodina hod uur timme"
)
START = _pattern(
    "start begin beginning von from od poczatek anfang beginn debut inicio desde inizio da dalle "
    "zacatek van fran borjan kezdete kezdet"
)
END = _pattern(
    "end ending ende bis to do koniec fin final hasta fine alle konec tot einde eind "
    "fim ate till slut vege"
)
TOTAL = _pattern(
    "total totals totaux sum summe suma somme razem lacznie gesamt gesamtsumme insgesamt average "
    "avg mean mittelwert durchschnitt srednia moyenne max min maximum minimum maksimum peak spitze "
    "totales promedio media maximo minimo totale somma massimo celkem soucet prumer totaal som "
    "gemiddelde soma summa totalt medel medelvarde osszesen osszeg atlag"
)
ANY_VALUE = _pattern(
    "value values val wert werte messwert wartosc valeur power leistung moc puissance energy "
    "energie energia reading lastgang p valor potencia consumo valore potenza hodnota vykon "
    "waarde vermogen verbruik leitura varde forbrukning effekt energi ertek fogyasztas teljesitmeny"
)
BAD_STATUS = _pattern(
    "bad invalid error fault faulty fehler ungultig blad bledny invalide mauvais false nok erroneo "
    "invalido errato chyba chybny neplatny ongeldig fout erro ogiltig fel felaktig hibas "
    "hiba ervenytelen"
)
GOOD_STATUS = _pattern(
    "good ok valid true normal actual measured real gut gultig wahr gemessen messwert dobry dobre "
    "poprawny prawidlowy zmierzony bon bonne valide mesure reel reelle bueno valido medido buono "
    "misurato reale platny mereno goed geldig gemeten bom medida uppmatt matt giltig mert ervenyes"
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
