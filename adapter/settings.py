"""The settings of `serve`, each as a flag, an environment variable and a key of `--config FILE`.

A flag wins over the environment, that over the file, that over the default. What cannot be used is refused before
anything starts, with what is wrong, where it was said, what is allowed and what to do. Reads no certificate and opens
no connection.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from adapter.core.documents import Document, read_documents
from adapter.core.documents import Path as Place
from adapter.core.plans import DEFAULT_SOURCE
from adapter.core.reach import Reach
from adapter.core.tenancy import TenancyMode
from adapter.source_settings import BasicAuth, Headers, Parameters, SourceSettings, source_url, without_password

ENVIRONMENT_PREFIX = "SCALEPROOF_"
_LOOPBACK_NAMES = ("localhost",)
MAX_SOURCES = 100
SOURCE_NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
FILE_ONLY: dict[str, JsonValue] = {"file_only": True}
"""Marks a setting that is no flag and no variable, because it is a mapping of mappings."""


class SettingsError(ValueError):
    """The settings cannot be used; the message has one line for each thing that is wrong."""


def _address(value: str) -> str:
    if value not in _LOOPBACK_NAMES:
        ip_address(value)
    return value


def _host_port(value: str) -> str:
    host, colon, port = value.rpartition(":")
    _address(host.strip("[]") or "0.0.0.0")  # noqa: S104 - ":8080" means every address, as in Go
    if not colon or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise ValueError("not ADDRESS:PORT")
    return value


def _names(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_names), Field(max_length=100)]


class Settings(BaseModel):
    """Everything `serve` can be told. None means: not said; the extension-apiserver-authentication ConfigMap tells."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scaling_policies: Literal["auto", "true", "false"] = Field(
        "auto", description="Whether policies are also objects of the API server; auto: where there is a way to it."
    )
    policies: Path | None = Field(
        None,
        validate_default=True,
        description="Folder (or file) with the policies; may be left out with --scaling-policies true.",
    )
    prometheus: Annotated[str, AfterValidator(source_url)] = Field(description="URL of Prometheus.", repr=False)
    prometheus_bearer_token_file: Path | None = Field(None, description="File with the token for Prometheus.")
    prometheus_username: str | None = Field(None, description="User for Prometheus (basic authentication).")
    prometheus_password_file: Path | None = Field(None, description="File with the password of that user.")
    prometheus_ca_file: Path | None = Field(None, description="CA of Prometheus (PEM); without, the system's.")
    prometheus_client_cert_file: Path | None = Field(None, description="Client certificate for Prometheus (PEM).")
    prometheus_client_key_file: Path | None = Field(None, description="Key of the client certificate (PEM).")
    prometheus_headers: Headers = Field(
        {}, description="NAME=VALUE,… sent to Prometheus; {namespace} is the policy's, e.g. X-Scope-OrgID={namespace}."
    )
    prometheus_parameters: Parameters = Field({}, description="NAME=VALUE,… added to queries, e.g. dedup=true.")
    tenancy: TenancyMode = Field(
        TenancyMode.OWN_OR_UNLABELLED,
        description="own, own-or-unlabelled or off: whether policies read series of other namespaces, or of none.",
    )
    tenancy_labels: Names | None = Field(None, description="Labels that tell the namespace of a series, first wins.")
    sources: dict[Annotated[str, Field(pattern=SOURCE_NAME)], SourceSettings] = Field(
        {}, max_length=MAX_SOURCES, description="More sources by name.", json_schema_extra=FILE_ONLY
    )
    also_reads: dict[str, tuple[str, ...]] = Field(
        {}, description="Other namespaces that a namespace's policies may read.", json_schema_extra=FILE_ONLY
    )
    bind_address: Annotated[str, AfterValidator(_address)] = Field("0.0.0.0", description="Address to listen on.")  # noqa: S104 - a server in a Pod
    secure_port: int = Field(6443, ge=0, le=65535, description="Port to serve HTTPS on; 0 takes a free one.")
    tls_cert_file: Path | None = Field(None, description="Serving certificate (PEM); without, one is made.")
    tls_private_key_file: Path | None = Field(None, description="Key of the serving certificate (PEM).")
    kubeconfig: Path | None = Field(None, description="Way to the API server; in a Pod its service account serves.")
    metrics_bind_address: Annotated[str, AfterValidator(_host_port)] = Field(
        "0.0.0.0:8080", description="ADDRESS:PORT of the adapter's own /metrics, plain HTTP."
    )
    explain_page: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Who gets /explain and its page on the metrics address, where nobody says who they are:"
        " auto, only who asks from loopback, as kubectl port-forward does; on, everybody; off, nobody.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")
    log_format: Literal["logfmt", "json"] = Field("logfmt", description="Form of a log line, one an event.")
    authorization_mode: Literal["Webhook", "AlwaysAllow"] = Field(
        "Webhook", description="Webhook asks the API server; AlwaysAllow is for loopback demos."
    )
    scaling_policies_status: bool = Field(True, description="Whether the status of those objects is written.")
    client_ca_file: Path | None = Field(None, description="CA whose certificates are users of their own.")
    requestheader_client_ca_file: Path | None = Field(None, description="CA of the front proxy.")
    requestheader_allowed_names: Names | None = Field(None, description="Names (CN) the front proxy may have.")
    requestheader_username_headers: Names | None = Field(None, description="Headers that carry the user.")
    requestheader_uid_headers: Names | None = Field(None, description="Headers that carry the user's UID.")
    requestheader_group_headers: Names | None = Field(None, description="Headers that carry the groups.")
    requestheader_extra_headers_prefix: Names | None = Field(None, description="Prefixes of headers with more.")

    @field_validator("policies")
    @classmethod
    def _some_policies(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if value is None and info.data.get("scaling_policies") != "true":
            raise PydanticCustomError("missing", "no policies")
        return value

    @model_validator(mode="after")
    def _fit_together(self) -> "Settings":
        if (self.tls_cert_file is None) != (self.tls_private_key_file is None):
            raise ValueError("--tls-cert-file and --tls-private-key-file go together; give both, or neither")
        if self.authorization_mode == "AlwaysAllow" and not self.is_loopback:
            raise ValueError(
                "--authorization-mode AlwaysAllow lets everybody read every signal, so it is allowed on loopback only,"
                f" not on {self.bind_address}; give --bind-address 127.0.0.1, or --authorization-mode Webhook"
            )
        if DEFAULT_SOURCE in self.sources:
            raise ValueError(f'"{DEFAULT_SOURCE}" is the source of --prometheus; give the other one another name')
        if (self.prometheus_username is None) != (self.prometheus_password_file is None):
            raise ValueError("--prometheus-username and --prometheus-password-file go together; give both, or neither")
        if (self.prometheus_client_cert_file is None) != (self.prometheus_client_key_file is None):
            raise ValueError(
                "--prometheus-client-cert-file and --prometheus-client-key-file go together; give both, or neither"
            )
        if self.prometheus_username is not None and self.prometheus_bearer_token_file is not None:
            raise ValueError("--prometheus-username and --prometheus-bearer-token-file exclude each other; give one")
        return self

    @property
    def every_source(self) -> dict[str, SourceSettings]:
        """All sources by name, that of --prometheus among them."""
        user, file = self.prometheus_username, self.prometheus_password_file
        default = SourceSettings(
            url=self.prometheus,
            bearer_token_file=self.prometheus_bearer_token_file,
            basic_auth=BasicAuth(username=user, password_file=file) if user is not None and file is not None else None,
            ca_file=self.prometheus_ca_file,
            client_cert_file=self.prometheus_client_cert_file,
            client_key_file=self.prometheus_client_key_file,
            headers=self.prometheus_headers,
            parameters=self.prometheus_parameters,
        )
        return {DEFAULT_SOURCE: default, **self.sources}

    @property
    def reach(self) -> Reach:
        """What policies may ask and read."""
        return Reach(
            {name: one.reach(self.tenancy, self.tenancy_labels) for name, one in self.every_source.items()},
            {namespace: frozenset(others) for namespace, others in self.also_reads.items()},
        )

    @property
    def is_loopback(self) -> bool:
        return self.bind_address in _LOOPBACK_NAMES or ip_address(self.bind_address).is_loopback

    @property
    def needs_api_server(self) -> bool:
        return self.authorization_mode == "Webhook" or self.kubeconfig is not None


_ALLOWED = {
    "policies": "a folder or file; give --policies DIR, or --scaling-policies true for those of the API server alone",
    "scaling_policies": "auto, true or false",
    "scaling_policies_status": "true or false",
    "prometheus": "a URL such as http://prometheus.monitoring:9090",
    "bind_address": "an IP address or localhost",
    "secure_port": "0 to 65535; 0 takes a free port",
    "metrics_bind_address": "ADDRESS:PORT, e.g. 127.0.0.1:8080",
    "explain_page": "auto, on or off",
    "authorization_mode": "Webhook or AlwaysAllow",
    "log_level": "debug, info, warning or error",
    "log_format": "logfmt or json",
    "tenancy": "own, own-or-unlabelled or off",
    "prometheus_headers": "NAME=VALUE, with commas between several",
    "prometheus_parameters": "NAME=VALUE, with commas between several",
    "sources": "NAME: {url: …} with the keys of docs/sources.md",
    "also_reads": "NAMESPACE: [NAMESPACE, …]",
}


def is_file_only(field: str) -> bool:
    """Whether a setting stands in the file alone."""
    return Settings.model_fields[field].json_schema_extra is FILE_ONLY


def flag(field: str) -> str:
    """The flag of a field: `secure_port` is `--secure-port`."""
    return "--" + field.replace("_", "-")


def load_settings(flags: Mapping[str, object], environment: Mapping[str, str], config: Path | None = None) -> Settings:
    """The settings from flags (None is not given), environment and file; SettingsError lists all that is wrong."""
    config = config or (Path(environment[_variable("config")]) if environment.get(_variable("config")) else None)
    document = _read_file(config) if config is not None else None
    values: dict[str, object] = {}
    sources: dict[str, str] = {}
    if document is not None:
        for key, value in _keys(document).items():
            position = document.value_at((key,))
            field = key.replace("-", "_")
            values[field] = value
            sources[field] = f"{document.file}:{position.line}:{position.column}: {key}"
    for field in Settings.model_fields:
        if is_file_only(field):
            continue
        if environment.get(_variable(field)):
            values[field], sources[field] = environment[_variable(field)], _variable(field)
        if flags.get(field) is not None:
            values[field], sources[field] = flags[field], flag(field)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise SettingsError("\n".join(_line(fault, sources, document) for fault in error.errors())) from error


def reach_of(config: Path) -> Reach:
    """What a server with this file lets policies ask and read, wherever its policies and its default source are."""
    return load_settings({"policies": ".", "prometheus": "http://localhost"}, {}, config).reach


def _variable(field: str) -> str:
    return ENVIRONMENT_PREFIX + field.upper()


def _read_file(config: Path) -> Document | None:
    try:
        text = config.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--config {config} cannot be read: {error}; give a readable YAML file") from error
    documents, problems = read_documents(text, str(config))
    if problems:
        raise SettingsError("\n".join(map(str, problems)))
    if len(documents) > 1:
        raise SettingsError(f"{config}: {len(documents)} YAML documents, one is read; remove the others")
    return documents[0] if documents else None


def _keys(document: Document) -> dict[str, object]:
    if not isinstance(document.value, dict):
        raise SettingsError(f"{document.file}:1:1: not a mapping; write one `flag-name: value` a line")
    known = {flag(field)[2:] for field in Settings.model_fields}
    faults = []
    for key in document.value:
        if key not in known:
            position = document.key_at((key,))
            faults.append(
                f'{document.file}:{position.line}:{position.column}: "{key}" is no setting;'
                f" write one of {', '.join(sorted(known))}"
            )
    if faults:
        raise SettingsError("\n".join(faults))
    return document.value


def _line(fault: Any, sources: Mapping[str, str], document: Document | None) -> str:
    if not fault["loc"]:
        return str(fault["ctx"]["error"])
    field = str(fault["loc"][0])
    allowed = _ALLOWED.get(field, "see --help")
    if fault["type"] == "missing" and len(fault["loc"]) == 1:
        return f"{flag(field)} is not given, and neither is {_variable(field)}: {allowed}"
    if field in ("sources", "also_reads") and document is not None:
        # What was given is not repeated: a password may have been written where only its file belongs.
        place = _place(document, fault["loc"])
        position = document.value_at(place)
        where = f"{document.file}:{position.line}:{position.column}: {'.'.join(map(str, place))}"
        return f"{where}: {fault['msg']} ({fault['loc'][-1]}); allowed: {allowed}"
    shown = repr(without_password(str(fault["input"])) if field == "prometheus" else fault["input"])
    if field in ("prometheus_headers", "prometheus_parameters"):
        shown = "what was given"
    return f"{sources.get(field, flag(field))}: {shown} cannot be used ({fault['msg']}); allowed: {allowed}"


def _place(document: Document, location: tuple[int | str, ...]) -> Place:
    """The keys as they stand in the file, with dashes or underscores, as far as they are there."""
    place: list[int | str] = []
    current = document.value
    for step in location:
        if isinstance(current, dict):
            key = next((one for one in current if one.replace("-", "_") == step), None)
            if key is None:
                break
            place.append(key)
            current = current[key]
        elif isinstance(current, list | tuple) and isinstance(step, int):
            place.append(step)
            current = current[step]
    return tuple(place)
