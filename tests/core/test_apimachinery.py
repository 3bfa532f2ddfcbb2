"""Selectors and quantities against the real apimachinery v0.36.3, which is linked into the tests' control plane.

Drawn inputs rather than chosen ones: pieces of the grammar in any order, so that half of them are wrong. The seed is
printed, and SCALEPROOF_TEST_SEED repeats a run.
"""

import json
import os
import random
import re
import subprocess
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from control_plane import binary

from adapter.core.label_selectors import SelectorError, parse_label_selector
from adapter.core.quantity import MAX_INT64, parse_milli, parse_quantity

pytestmark = pytest.mark.slow

DRAWN = 6000

KEYS = ["a", "model_name", "x/y", "k8s.io/gpu", "A.b-c", "in", "notin", "é", "a/b/c", "-a", "a" * 64, "B/y", "/y", "x/"]
VALUES = ["a", "llama-70b", "1", "-5", "007", "9223372036854775808", "+3", "", "in", "v" * 63, "v" * 64, "a b", "ü"]
SYMBOLS = ["=", "==", "!=", "!", ",", "(", ")", "<", ">", " in ", " notin ", " ", "\t", "\n", "===", "=!", "\0", "gt"]


def selector(draw: random.Random) -> str:
    """Either well-formed requirements with now and then a wrong key or value, or any pieces in any order."""
    if draw.random() < 0.3:
        return "".join(draw.choice(draw.choice((KEYS, VALUES, SYMBOLS))) for _ in range(draw.randint(0, 9)))
    return draw.choice([",", ",", ", ", " ,"]).join(requirement(draw) for _ in range(draw.randint(1, 3)))


def requirement(draw: random.Random) -> str:
    key, value = draw.choice(KEYS[:6] if draw.random() < 0.9 else KEYS), draw.choice(VALUES[:6] + VALUES)
    values = ",".join(draw.choice(VALUES[:3] + VALUES) for _ in range(draw.randint(0, 4)))
    blank = draw.choice(["", "", " "])
    forms = [key, f"!{blank}{key}", f"{key}{blank}in{blank}({values})", f"{key} notin ({blank}{values})"]
    forms += [f"{key}{blank}{symbol}{blank}{value}" for symbol in ("=", "==", "!=", "<", ">")]
    return draw.choice(forms)


SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "K", "ki", "B", "mm"]
EDGES = ["9223372036854775807", "9223372036854775808", "9223372036854775", "9223372036854776", "8191", "8192", "0"]
EDGES += ["9007199254740991", "9007199254740993", "0.0000000001", "0.9999999995", "999999999999999999", "0.0005"]


def quantity(draw: random.Random) -> str:
    """Digits on both sides of a point, a sign, a suffix or exponent; edges of int64 and nano among them."""
    if draw.random() < 0.03:
        return "".join(draw.choice("0123456789.+-eEinumkKMGTP \n") for _ in range(draw.randint(0, 5)))
    whole = "".join(draw.choice("0123456789") for _ in range(draw.choice((0, 1, 2, 4, 9, 17, 18, 19, 25))))
    part = "".join(draw.choice("0123456789") for _ in range(draw.choice((0, 1, 3, 6, 9, 10, 12))))
    number = draw.choice([whole, f"{whole}.{part}", f".{part}", draw.choice(EDGES)])
    exponent = f"{draw.choice('eE')}{draw.choice(['', '+', '-'])}{draw.choice([0, 1, 2, 3, 9, 10, 18, 30, 99, 300])}"
    end = draw.choice(SUFFIXES) if draw.random() < 0.75 else exponent
    return draw.choice(["", "", "", "-", "+"]) + number + end


def apimachinery(kind: str, texts: list[str]) -> list[dict[str, Any]]:
    """What apimachinery makes of each text."""
    lines = "".join(json.dumps({"kind": kind, "text": text}) + "\n" for text in texts)
    ended = subprocess.run([binary(), "parse"], input=lines.encode(), capture_output=True, check=True, timeout=120)
    return [json.loads(line) for line in ended.stdout.decode().splitlines()]


def drawn(make: Callable[[random.Random], str]) -> list[str]:
    seed = int(os.environ.get("SCALEPROOF_TEST_SEED") or random.randrange(2**32))
    print(f"SCALEPROOF_TEST_SEED={seed}")
    draw = random.Random(seed)
    return [make(draw) for _ in range(DRAWN)]


def test_drawn_selectors_are_read_or_refused_as_apimachinery_does_and_with_its_words() -> None:
    texts = drawn(selector)
    refused = 0
    for text, want in zip(texts, apimachinery("selector", texts), strict=True):
        try:
            found = parse_label_selector(text).requirements
        except SelectorError as error:
            refused += 1
            assert (text, str(error)) == (text, want.get("error"))
            continue
        assert (text, want.get("error")) == (text, None)
        ours = [[one.key, one.operator.value, list(one.values)] for one in found]
        assert (text, sorted(ours)) == (text, sorted(want.get("requirements") or []))
    print(f"{len(texts)} selectors, {refused} of them refused")
    assert DRAWN / 5 < refused < DRAWN * 4 / 5


def test_drawn_quantities_have_the_number_and_the_milli_value_that_apimachinery_reads() -> None:
    """
    The milli-value is compared where Go's means something: within an int64, and not below 0, where it rounds towards
    zero or wraps as soon as it holds a number as a decimal. The exact number is compared in every case.
    """
    texts = drawn(quantity)
    refused = beyond = 0
    for text, want in zip(texts, apimachinery("quantity", texts), strict=True):
        try:
            exact, milli = parse_quantity(text), parse_milli(text)
        except ValueError:
            refused += 1
            number = re.match(r"[0-9+.-]*", text)
            is_without_digit = number is not None and not re.search("[0-9]", number.group())  # 0 to Go: `.`, `+k`, `Mi`
            assert (text, "error" in want or is_without_digit) == (text, True)
            continue
        assert (text, want.get("error")) == (text, None)
        assert (text, exact) == (text, Fraction(want["exact"]))
        beyond += abs(milli) > MAX_INT64
        if not 0 <= milli <= MAX_INT64:
            continue
        assert (text, milli) == (text, want["milli"])
    print(f"{len(texts)} quantities, {refused} of them refused, {beyond} beyond an int64")
    assert DRAWN / 20 < refused < DRAWN / 2
    assert beyond > DRAWN / 50
