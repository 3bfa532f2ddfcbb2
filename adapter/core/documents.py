"""YAML documents with the position of every key and value.

Reads YAML into plain values (dict, list, str, int, float, bool, None) by the YAML 1.2 core schema, so that `on` stays
the word "on" and `1:30` stays text, and remembers where each key and value stands. Duplicate keys, keys that are not
text, custom tags and aliases that explode are problems, never silently resolved. Knows nothing about policies.
"""

import re
from dataclasses import dataclass, field

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode

from adapter.core.problems import Position, Problem

Path = tuple[str | int, ...]

MAX_TEXT_CHARACTERS = 1_000_000
MAX_NODES = 50_000
MAX_DEPTH = 64
MAX_DOCUMENTS = 5000
MAX_PROBLEMS = 1000
"""Problems of one document that are told; thousands have one cause, and each costs time."""

_NULL = re.compile(r"^(|~|null|Null|NULL)$")
_TRUE = re.compile(r"^(true|True|TRUE)$")
_FALSE = re.compile(r"^(false|False|FALSE)$")
_INTEGER = re.compile(r"^[-+]?[0-9]+$")
_FLOAT = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_SPECIAL = re.compile(r"^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$")


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document: its plain value, and where each path of it stands in the file."""

    value: object
    file: str
    values: dict[Path, Position] = field(repr=False)
    keys: dict[Path, Position] = field(repr=False)
    is_broken: bool = False
    has_lines: bool = True
    """Whether positions are lines of a text; else they only tell values apart."""

    def value_at(self, path: Path) -> Position:
        """Position of the value at the path, or of its nearest ancestor that exists."""
        while path not in self.values and path:
            path = path[:-1]
        return self.values.get(path, Position())

    def key_at(self, path: Path) -> Position:
        """Position of the key that ends the path, or of the nearest value that exists."""
        return self.keys.get(path) or self.value_at(path)


def read_documents(text: str, file: str, *, keep_broken: bool = False) -> tuple[list[Document], list[Problem]]:
    """Read all YAML documents of a text; empty documents are left out.

    A document with a problem is left out, or marked as broken where it is to be kept for further checks; a syntax error
    ends the reading there.
    """
    if len(text) > MAX_TEXT_CHARACTERS:
        message = f"the file has {len(text)} characters, at most {MAX_TEXT_CHARACTERS} are read"
        return [], [Problem(file, Position(), "yaml-too-large", message, "split the file")]
    documents: list[Document] = []
    problems: list[Problem] = []
    try:
        loader = yaml.CSafeLoader(text)
    except UnicodeEncodeError:
        return [], [Problem(file, Position(), "yaml-syntax", "the text holds half of a surrogate pair", "write UTF-8")]
    count = 0
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is None:
                continue
            count += 1
            if count > MAX_DOCUMENTS:
                message = f"the file has more than {MAX_DOCUMENTS} documents"
                problems.append(Problem(file, _position(node), "yaml-too-large", message, "split the file"))
                break
            reader = _Reader(file)
            value = reader.read(node, (), 0)
            problems += reader.problems
            if value is not None and (keep_broken or not reader.problems):
                documents.append(Document(value, file, reader.values, reader.keys, bool(reader.problems)))
    except yaml.MarkedYAMLError as error:
        problems.append(_syntax_problem(error, file))
    except yaml.YAMLError as error:
        problems.append(Problem(file, Position(), "yaml-syntax", str(error).splitlines()[0]))
    finally:
        loader.dispose()
    return documents, problems


def _syntax_problem(error: yaml.MarkedYAMLError, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    position = Position(mark.line + 1, mark.column + 1) if mark else Position()
    message = ", ".join(part for part in (error.context, error.problem) if part)
    return Problem(file, position, "yaml-syntax", f"not valid YAML: {message}", "correct the YAML syntax at this place")


def _position(node: Node) -> Position:
    return Position(node.start_mark.line + 1, node.start_mark.column + 1)


class _Reader:
    """Walks one composed document; bounded in nodes and depth, so that aliases cannot explode."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.values: dict[Path, Position] = {}
        self.keys: dict[Path, Position] = {}
        self.problems: list[Problem] = []
        self.nodes = 0

    def read(self, node: Node, path: Path, depth: int) -> object:
        self.values[path] = _position(node)
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            if not any(problem.code == "yaml-too-large" for problem in self.problems):
                message = f"the document has more than {MAX_NODES} values or is nested deeper than {MAX_DEPTH}"
                self.add(node, "yaml-too-large", message, "split it, or drop the aliases that repeat large parts")
            return None
        if isinstance(node, MappingNode):
            return self.mapping(node, path, depth)
        if isinstance(node, SequenceNode):
            return [self.read(child, (*path, index), depth + 1) for index, child in enumerate(node.value)]
        return self.scalar(node)

    def mapping(self, node: MappingNode, path: Path, depth: int) -> dict[str, object]:
        result: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self.add(key_node, "yaml-key", "a key must be plain text", "write the key as a word")
                continue
            key = str(key_node.value)
            if key == "<<" and not key_node.style:
                self.add(key_node, "yaml-merge", "merge keys (<<) are not read", "write the keys out")
                continue
            if key in result:
                first = self.keys[(*path, key)]
                message = f'the key "{key}" stands twice, first at line {first.line}'
                self.add(key_node, "duplicate-key", message, "remove one of the two; neither is taken")
                continue
            self.keys[(*path, key)] = _position(key_node)
            result[key] = self.read(value_node, (*path, key), depth + 1)
        return result

    def scalar(self, node: Node) -> object:
        text = str(node.value)
        if getattr(node, "style", None):  # quoted, or a block
            return text
        if not node.tag.startswith("tag:yaml.org,2002:") or "python/" in node.tag:
            self.add(node, "yaml-tag", f"the tag {node.tag} is not read", "remove the tag")
            return None
        value = plain_scalar(text)
        # PyYAML takes `1e3` for text; anything else it takes for text is text, such as `!!str 5`.
        is_text = node.tag == "tag:yaml.org,2002:str" and not isinstance(value, float)
        return text if is_text else value

    def add(self, node: Node, code: str, message: str, fix: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(self.file, _position(node), code, message, fix))


def plain_scalar(text: str) -> object:
    """The value of an unquoted scalar by the YAML 1.2 core schema (https://yaml.org/spec/1.2.2/#103-core-schema)."""
    if _NULL.match(text):
        return None
    if _TRUE.match(text):
        return True
    if _FALSE.match(text):
        return False
    if _INTEGER.match(text) and len(text) <= 40:
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    if _SPECIAL.match(text):
        return float(text.lower().replace(".", ""))
    return text
