"""Settings of sources: a wrong one is told with its place, and never with what was given."""

from pathlib import Path

import pytest

from adapter.core.plans import DEFAULT_SOURCE
from adapter.core.tenancy import TenancyMode
from adapter.settings import SettingsError, load_settings
from adapter.source_settings import SourceSettings

NEEDED = {"policies": "p", "prometheus": "http://p"}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("sources:\n  b: {url: 'ftp://x'}\n", "config.yaml:2:12: sources.b.url: Value error, not an http or https URL"),
        ("sources:\n  b: {url: 'http://x', token: s3cret}\n", "config.yaml:2:31: sources.b.token: Extra inputs"),
        ("sources:\n  default: {url: 'http://x'}\n", '"default" is the source of --prometheus'),
        (
            "sources:\n  b:\n    url: http://x\n    headers: {Authorization: s3cret}\n",
            "config.yaml:4:14: sources.b.headers: Value error, Authorization is set by the adapter; credentials stand",
        ),
        ("tenancy: none\n", "config.yaml:1:10: tenancy: 'none' cannot be used"),
    ],
    ids=["url", "key", "default", "header", "tenancy"],
)
def test_a_wrong_source_ends_the_start_with_its_place_and_without_what_was_given(
    tmp_path: Path, config: str, words: str
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(config)
    with pytest.raises(SettingsError) as refused:
        load_settings(NEEDED, {}, file)
    assert words in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_a_source_says_for_itself_what_the_server_says_for_all(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "tenancy: own\n"
        "tenancy-labels: kubernetes_namespace\n"
        "also-reads: {prod: [shared]}\n"
        "sources:\n"
        '  b: {url: http://b, tenancy: "off", namespaces: [prod]}\n'
        "  c: {url: http://c, tenancy-labels: [ns], max_concurrent: 5}\n"
    )
    settings = load_settings({**NEEDED, "prometheus_headers": "X-A=1, X-B={namespace}"}, {}, file)
    reach = settings.reach
    assert {name: (one.tenancy, one.labels) for name, one in reach.sources.items()} == {
        DEFAULT_SOURCE: (TenancyMode.OWN, ("kubernetes_namespace",)),
        "b": (TenancyMode.OFF, ("kubernetes_namespace",)),
        "c": (TenancyMode.OWN, ("ns",)),
    }
    assert reach.sources["b"].namespaces == {"prod"}
    assert reach.also_reads == {"prod": {"shared"}}
    assert settings.every_source["c"].max_concurrent == 5
    assert settings.every_source[DEFAULT_SOURCE].headers == {"X-A": "1", "X-B": "{namespace}"}


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"prometheus": "ftp://user:s3cret@p"}, "'ftp://***@p' cannot be used"),
        ({"prometheus_username": "u"}, "--prometheus-username and --prometheus-password-file go together"),
        ({"prometheus_client_cert_file": "c"}, "--prometheus-client-cert-file and --prometheus-client-key-file go"),
        ({"prometheus_headers": "s3cret"}, "--prometheus-headers: what was given cannot be used"),
        ({"prometheus_headers": "Cookie=s3cret"}, "Cookie is set by the adapter"),
        ({"prometheus_parameters": "query=x"}, "query is set by the adapter itself"),
        ({"tenancy": "all"}, "allowed: own, own-or-unlabelled or off"),
        (
            {"prometheus_username": "u", "prometheus_password_file": "f", "prometheus_bearer_token_file": "t"},
            "exclude each other",
        ),
    ],
)
def test_a_wrong_flag_is_told_without_what_may_be_secret(flags: dict[str, object], words: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings({**NEEDED, **flags}, {})
    assert words in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_the_example_of_the_page_can_be_used(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/sources.md").read_text()
    file = tmp_path / "serve.yaml"
    file.write_text(page.split("```yaml\n")[1].split("```")[0])
    settings = load_settings(NEEDED, {}, file)
    assert set(settings.every_source) == {"default", "mimir", "thanos"}
    # Every key of a source is on the page, as it is written.
    keys = [field.replace("_", "-") for field in SourceSettings.model_fields]
    assert [key for key in keys if f"`{key}" not in page] == []
