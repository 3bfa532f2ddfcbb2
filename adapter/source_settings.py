"""The settings of one source: where a Prometheus is, how it is asked, and who may read what there.

Secrets are named by the files that hold them and are never settings themselves, so that no setting that is shown can
show one. Opens no file and no connection.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from adapter.core.reach import SourceReach
from adapter.core.tenancy import DEFAULT_LABELS, TenancyMode

MAX_HEADERS = 32
NAMESPACE = "{namespace}"
"""Stands in headers and parameters for the namespace of the policy that asks: a tenant for each namespace."""

_REFUSED_HEADERS = ("authorization", "proxy-authorization", "cookie", "host", "content-length", "transfer-encoding")
_OWN_PARAMETERS = ("query", "time", "start", "end", "step")


def source_url(value: str) -> str:
    """A URL of http or https without a slash at its end; ValueError otherwise."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not an http or https URL")
    return value.rstrip("/")


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    parts = urlsplit(url)
    _, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"***@{host}")) if at else url


def _pairs(value: object) -> object:
    """`a=b,c=d` as on the command line, or the mapping of a file."""
    if not isinstance(value, str):
        return value
    pairs = [part.strip().partition("=") for part in value.split(",") if part.strip()]
    if any(not sign for _, sign, _ in pairs):
        raise ValueError("not NAME=VALUE, with commas between several")
    return {name.strip(): text for name, _, text in pairs}


def _headers(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if name.lower() in _REFUSED_HEADERS:
            raise ValueError(f"{name} is set by the adapter; credentials stand in files")
        if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum() or not _is_header_text(text):
            raise ValueError("not the name of a header with printable ASCII as its value")
    return value


def _is_header_text(text: str) -> bool:
    return text.isascii() and text.isprintable() and text == text.strip()


def _parameters(value: dict[str, str]) -> dict[str, str]:
    for name in value:
        if name in _OWN_PARAMETERS:
            raise ValueError(f"{name} is set by the adapter itself")
    return value


Pairs = Annotated[dict[str, str], BeforeValidator(_pairs), Field(max_length=MAX_HEADERS)]
Headers = Annotated[Pairs, AfterValidator(_headers)]
Parameters = Annotated[Pairs, AfterValidator(_parameters)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _dashes(cls, value: Any) -> Any:
        """Keys as everywhere in the file, with dashes; underscores mean the same."""
        return {str(key).replace("-", "_"): one for key, one in value.items()} if isinstance(value, dict) else value


class BasicAuth(_Strict):
    """A user and the file with the password."""

    username: str = Field(min_length=1, max_length=256, pattern=r"^[^:\x00-\x1f\x7f]+$")
    password_file: Path


class SourceSettings(_Strict):
    """One source."""

    url: Annotated[str, AfterValidator(source_url)] = Field(repr=False)
    bearer_token_file: Path | None = None
    basic_auth: BasicAuth | None = None
    ca_file: Path | None = None
    client_cert_file: Path | None = None
    client_key_file: Path | None = None
    headers: Headers = Field(default_factory=dict)
    parameters: Parameters = Field(default_factory=dict)
    max_concurrent: int = Field(64, ge=1, le=256)
    max_series: int = Field(50_000, ge=1, le=1_000_000)
    tenancy: TenancyMode | None = None
    tenancy_labels: tuple[str, ...] | None = Field(None, min_length=1, max_length=10)
    namespaces: tuple[str, ...] | None = Field(None, max_length=10_000)

    @model_validator(mode="after")
    def _fit_together(self) -> "SourceSettings":
        if (self.client_cert_file is None) != (self.client_key_file is None):
            raise ValueError("the client's certificate file and key file go together; give both, or neither")
        if self.bearer_token_file is not None and self.basic_auth is not None:
            raise ValueError("a bearer token and a user with password exclude each other; give one of them")
        return self

    def reach(self, tenancy: TenancyMode, labels: tuple[str, ...] | None) -> SourceReach:
        """What policies may read here; what the source does not say is as the server says."""
        return SourceReach(
            tenancy=self.tenancy or tenancy,
            labels=self.tenancy_labels or labels or DEFAULT_LABELS,
            namespaces=None if self.namespaces is None else frozenset(self.namespaces),
        )


def for_namespace(values: Mapping[str, str], namespace: str) -> dict[str, str]:
    """Headers or parameters as they are sent for a policy of the namespace."""
    return {name: text.replace(NAMESPACE, namespace) for name, text in values.items()}
