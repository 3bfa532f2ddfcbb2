"""Whose client certificates count: from files named by flags, or from the ConfigMap that kube-apiserver keeps.

Both change while the server runs (CAs are rotated), so files are read again and the ConfigMap is watched; what cannot
be read leaves the last good trust in force, and the generation moves only with a real change.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from adapter.certificates import CertificateAuthorityError, ClientTrust
from adapter.settings import Settings

_MAX_BUNDLE_BYTES = 1_000_000


class TrustError(ValueError):
    """The CAs or names cannot be used; the message says which and why."""


@dataclass(frozen=True, slots=True)
class TrustSource:
    """The flags that say whose certificates count; what they leave open is the ConfigMap's."""

    settings: Settings

    @property
    def needs_config_map(self) -> bool:
        settings = self.settings
        is_complete = settings.client_ca_file is not None and settings.requestheader_client_ca_file is not None
        return settings.needs_api_server and not is_complete

    @property
    def may_trust_certificates(self) -> bool:
        settings = self.settings
        return bool(self.needs_config_map or settings.client_ca_file or settings.requestheader_client_ca_file)

    def trust(self, config_map: Mapping[str, str], before: ClientTrust) -> ClientTrust:
        """The trust of now: `before` itself if nothing changed; TrustError if something cannot be used."""
        try:
            found = self._overridden(_of_config_map(config_map))
        except CertificateAuthorityError as error:
            raise TrustError(str(error)) from error
        if replace(found, generation=before.generation) == before:
            return before
        return replace(found, generation=before.generation + 1)

    def _overridden(self, base: ClientTrust) -> ClientTrust:
        settings = self.settings
        if settings.requestheader_client_ca_file is not None:
            # Another front proxy than the cluster's: nothing the ConfigMap says of the cluster's holds for it.
            base = ClientTrust(
                client_ca=base.client_ca, request_header_ca=_read_bundle(settings.requestheader_client_ca_file)
            )
        if settings.client_ca_file is not None:
            base = replace(base, client_ca=_read_bundle(settings.client_ca_file))
        return replace(
            base,
            allowed_names=_said(settings.requestheader_allowed_names, base.allowed_names),
            username_headers=_said(settings.requestheader_username_headers, base.username_headers),
            uid_headers=_said(settings.requestheader_uid_headers, base.uid_headers),
            group_headers=_said(settings.requestheader_group_headers, base.group_headers),
            extra_prefixes=_said(settings.requestheader_extra_headers_prefix, base.extra_prefixes),
        )


def _said(flag: tuple[str, ...] | None, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    return otherwise if flag is None else flag


def _of_config_map(data: Mapping[str, str]) -> ClientTrust:
    default = ClientTrust()
    return ClientTrust(
        client_ca=data.get("client-ca-file", ""),
        request_header_ca=data.get("requestheader-client-ca-file", ""),
        allowed_names=_names(data, "requestheader-allowed-names", ()),
        username_headers=_names(data, "requestheader-username-headers", default.username_headers),
        uid_headers=_names(data, "requestheader-uid-headers", default.uid_headers),
        group_headers=_names(data, "requestheader-group-headers", default.group_headers),
        extra_prefixes=_names(data, "requestheader-extra-headers-prefix", default.extra_prefixes),
    )


def _names(data: Mapping[str, str], key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    text = data.get(key, "")
    if not text:
        return default
    try:
        names = json.loads(text)
    except ValueError as error:
        raise TrustError(f"{key} of the ConfigMap is not a JSON list: {error}") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TrustError(f"{key} of the ConfigMap is not a JSON list of names")
    return tuple(names)


def _read_bundle(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(_MAX_BUNDLE_BYTES).decode("ascii", "replace")
    except OSError as error:
        raise TrustError(f"{file} cannot be read: {error.strerror or error}") from error
