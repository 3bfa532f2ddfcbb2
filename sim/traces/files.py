"""Files of traces as text: compressed or not, with any failure as a TraceError that names the file."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO

from sim.traces.trace import TraceError

GZIP_MAGIC = b"\x1f\x8b"
HEAD_BYTES = 65_536


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """The file as UTF-8 text, unpacked where its first bytes say gzip; a byte order mark is passed over."""
    try:
        with path.open("rb") as raw:
            is_packed = raw.read(2) == GZIP_MAGIC
            raw.seek(0)
            if is_packed:
                with gzip.open(raw, "rb") as packed, TextIOWrapper(packed, "utf-8-sig", newline="") as text:
                    yield text
            else:
                with TextIOWrapper(raw, "utf-8-sig", newline="") as text:
                    yield text
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: no UTF-8 text ({error.reason}); save it as UTF-8") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TraceError(f"{path}: the compressed file is cut off or damaged ({error})") from error
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error


def head_of(path: Path) -> bytes:
    """The first bytes, as they are in the file."""
    try:
        with path.open("rb") as raw:
            return raw.read(16)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error


def text_head(path: Path) -> str:
    """The first characters of the text."""
    with open_text(path) as text:
        return text.read(HEAD_BYTES)
