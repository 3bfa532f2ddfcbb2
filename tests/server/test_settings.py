"""Settings of `serve`: where each may be said, which wins, and what a wrong one is told."""

from pathlib import Path

import pytest
from api_serving import authentication_config
from certificates import Authority

from adapter.certificates import ClientTrust
from adapter.client_trust import TrustError, TrustSource
from adapter.settings import Settings, SettingsError, flag, load_settings

NEEDED = {"policies": "p", "prometheus": "http://prometheus:9090"}


def test_two_flags_are_enough() -> None:
    settings = load_settings(NEEDED, {})
    assert (settings.bind_address, settings.secure_port, settings.authorization_mode) == ("0.0.0.0", 6443, "Webhook")
    assert settings.needs_api_server


def test_a_flag_wins_over_the_environment_that_over_the_file_that_over_the_default(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("prometheus: http://file:9090\nsecure-port: 1\nbind-address: 127.0.0.1\n")
    environment = {"SCALEPROOF_SECURE_PORT": "2", "SCALEPROOF_PROMETHEUS": "http://environment:9090"}
    settings = load_settings({"policies": "p", "secure_port": 3, "bind_address": None}, environment, file)
    assert (settings.secure_port, settings.prometheus, settings.bind_address) == (
        3,
        "http://environment:9090",
        "127.0.0.1",
    )


def test_the_file_itself_can_be_named_in_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("secure-port: 7\n")
    assert load_settings(NEEDED, {"SCALEPROOF_CONFIG": str(file)}).secure_port == 7


def test_variables_that_kubernetes_makes_of_a_service_named_scaleproof_do_no_harm() -> None:
    environment = {
        "SCALEPROOF_PORT": "tcp://10.0.0.1:443",
        "SCALEPROOF_SERVICE_HOST": "10.0.0.1",
        "SCALEPROOF_SERVICE_PORT": "443",
        "SCALEPROOF_PORT_443_TCP_ADDR": "10.0.0.1",
    }
    assert load_settings(NEEDED, environment) == load_settings(NEEDED, {})


def test_lists_are_separated_by_commas() -> None:
    settings = load_settings({**NEEDED, "requestheader_allowed_names": "a, b,"}, {})
    assert settings.requestheader_allowed_names == ("a", "b")


@pytest.mark.parametrize(
    ("flags", "environment", "message"),
    [
        ({"prometheus": "http://p"}, {}, "--policies is not given, and neither is SCALEPROOF_POLICIES"),
        ({**NEEDED, "secure_port": 70000}, {}, "--secure-port: 70000 cannot be used"),
        (NEEDED, {"SCALEPROOF_SECURE_PORT": "x"}, "SCALEPROOF_SECURE_PORT: 'x' cannot be used"),
        ({**NEEDED, "prometheus": "prometheus:9090"}, {}, "a URL such as http://prometheus.monitoring:9090"),
        ({**NEEDED, "bind_address": "example.com"}, {}, "an IP address or localhost"),
        ({**NEEDED, "metrics_bind_address": "8080"}, {}, "ADDRESS:PORT"),
        ({**NEEDED, "authorization_mode": "RBAC"}, {}, "Webhook or AlwaysAllow"),
        ({**NEEDED, "tls_cert_file": "a"}, {}, "go together"),
        ({**NEEDED, "authorization_mode": "AlwaysAllow"}, {}, "allowed on loopback only, not on 0.0.0.0"),
        (
            {**NEEDED, "authorization_mode": "AlwaysAllow", "bind_address": "10.0.0.1"},
            {},
            "give --bind-address 127.0.0.1",
        ),
        (NEEDED, {"SCALEPROOF_CONFIG": "/nosuch/config.yaml"}, "/nosuch/config.yaml cannot be read"),
    ],
)
def test_a_wrong_setting_is_told_what_where_and_what_to_do(
    flags: dict[str, object], environment: dict[str, str], message: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(flags, environment)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("secure-port: 1\nbind_addres: x\n", 'config.yaml:2:1: "bind_addres" is no setting'),
        ("\nsecure-port: x\n", "config.yaml:2:14: secure-port: 'x' cannot be used"),
        ("secure-port: 1\nsecure-port: 2\n", "config.yaml:2:1: error: the key"),
        ("- a\n", "config.yaml:1:1: not a mapping"),
        ("a: b\n---\nc: d\n", "2 YAML documents"),
    ],
)
def test_a_wrong_file_is_told_the_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError) as refused:
        load_settings(NEEDED, {}, file)
    assert message in str(refused.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings({"secure_port": -1, "prometheus": "x"}, {})
    assert len(str(refused.value).splitlines()) == 3


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_always_allow_is_for_loopback(address: str) -> None:
    settings = load_settings({**NEEDED, "authorization_mode": "AlwaysAllow", "bind_address": address}, {})
    assert not settings.needs_api_server


def test_every_setting_has_a_flag_and_a_description() -> None:
    assert flag("tls_cert_file") == "--tls-cert-file"
    assert all(field.description for field in Settings.model_fields.values())


CLUSTER, PROXY, OTHER = (Authority(name).pem for name in ("kubernetes", "front-proxy-ca", "other"))
CONFIG_MAP = authentication_config(CLUSTER, PROXY)


def test_the_config_map_says_whom_to_trust() -> None:
    trust = TrustSource(load_settings(NEEDED, {})).trust(CONFIG_MAP, ClientTrust())
    assert trust == ClientTrust(1, CLUSTER, PROXY, ("front-proxy-client",))


def test_the_generation_moves_with_a_change_and_not_without() -> None:
    source = TrustSource(load_settings(NEEDED, {}))
    first = source.trust(CONFIG_MAP, ClientTrust())
    assert source.trust(dict(CONFIG_MAP), first) is first
    assert source.trust({**CONFIG_MAP, "client-ca-file": OTHER}, first).generation == 2


def test_flags_win_over_the_config_map(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_text(OTHER)
    names = TrustSource(load_settings({**NEEDED, "requestheader_allowed_names": "me"}, {}))
    assert names.trust(CONFIG_MAP, ClientTrust()) == ClientTrust(1, CLUSTER, PROXY, ("me",))
    client = TrustSource(load_settings({**NEEDED, "client_ca_file": str(file)}, {}))
    assert client.trust(CONFIG_MAP, ClientTrust()) == ClientTrust(1, OTHER, PROXY, ("front-proxy-client",))


def test_another_front_proxy_takes_no_names_or_headers_from_the_config_map(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_text(OTHER)
    flags = {**NEEDED, "requestheader_client_ca_file": str(file), "requestheader_username_headers": "X-User"}
    config_map = {**CONFIG_MAP, "requestheader-group-headers": '["X-Group"]'}
    trust = TrustSource(load_settings(flags, {})).trust(config_map, ClientTrust())
    assert trust == ClientTrust(1, CLUSTER, OTHER, (), username_headers=("X-User",))


@pytest.mark.parametrize(
    "config_map",
    [
        {"client-ca-file": "nonsense"},
        {"requestheader-client-ca-file": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"},
        {"requestheader-allowed-names": "front-proxy-client"},
        {"requestheader-allowed-names": '{"a": 1}'},
        {"requestheader-username-headers": "[1]"},
    ],
    ids=str,
)
def test_what_cannot_be_used_of_the_config_map_is_an_error_and_never_a_looser_trust(config_map: dict[str, str]) -> None:
    with pytest.raises(TrustError):
        TrustSource(load_settings(NEEDED, {})).trust({**CONFIG_MAP, **config_map}, ClientTrust())
