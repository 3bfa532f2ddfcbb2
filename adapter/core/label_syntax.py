"""What Kubernetes accepts as the key and the value of a label, and its words for what it does not.

The checks and messages follow `content.IsLabelKey` and `content.IsLabelValue` of k8s.io/apimachinery v0.36; lengths are
bytes of UTF-8, as there. Knows nothing of selectors or HTTP.
"""

import re

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME_PATTERN = re.compile(_NAME)
_SUBDOMAIN_PATTERN = re.compile(_SUBDOMAIN)

MAX_NAME_BYTES = 63
MAX_PREFIX_BYTES = 253

_NAME_FAULT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    f" (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_FAULT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345',"
    f" regex used for validation is '({_NAME})?')"
)
_PREFIX_FAULT = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and"
    " must start and end with an alphanumeric character (e.g. 'example.com',"
    f" regex used for validation is '{_SUBDOMAIN}')"
)
_ESCAPES = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v"}


def key_faults(key: str) -> list[str]:
    """What is wrong with a label key; nothing for a valid one."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        optional = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_NAME_FAULT}{optional}"]
    faults: list[str] = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        if _bytes(prefix) > MAX_PREFIX_BYTES:
            faults.append(f"prefix part must be no more than {MAX_PREFIX_BYTES} bytes")
        if not _SUBDOMAIN_PATTERN.fullmatch(prefix):
            faults.append(_PREFIX_FAULT)
    if not name:
        faults.append("name part must be non-empty")
    elif _bytes(name) > MAX_NAME_BYTES:
        faults.append(f"name part must be no more than {MAX_NAME_BYTES} bytes")
    if not _NAME_PATTERN.fullmatch(name):
        faults.append(f"name part {_NAME_FAULT}")
    return faults


def value_faults(value: str) -> list[str]:
    """What is wrong with a label value; nothing for a valid one, the empty one among them."""
    faults: list[str] = []
    if _bytes(value) > MAX_NAME_BYTES:
        faults.append(f"must be no more than {MAX_NAME_BYTES} bytes")
    if value and not _NAME_PATTERN.fullmatch(value):
        faults.append(_VALUE_FAULT)
    return faults


def go_quote(text: str) -> str:
    """The text in double quotes as Go's `%q` writes it."""
    return '"' + "".join(map(_quoted_character, text)) + '"'


def _quoted_character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
