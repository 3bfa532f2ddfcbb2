"""Query parameters of a list: captures 125–146 of a real adapter, and the API machinery's rules for field selectors."""

import pytest

from adapter.core.list_options import check_list_options


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"limit": "1", "continue": "abc", "resourceVersion": "abc"},
        {"timeout": "5s", "timeoutSeconds": "5"},
        {"timeout": "1h2m3.5s"},
        {"timeout": "0"},
        {"fieldSelector": "metadata.name=x"},
        {"fieldSelector": "metadata.name==x,metadata.namespace!=y"},
        {"fieldSelector": "=="},
        {"fieldSelector": ""},
        {"resourceVersionMatch": "Exact", "resourceVersion": "5"},
        {"dryRun": "All", "nosuch": "1"},
    ],
    ids=str,
)
def test_what_changes_nothing_is_let_through(parameters: dict[str, str]) -> None:
    assert check_list_options(parameters) is None


@pytest.mark.parametrize(
    ("parameters", "code", "message"),
    [
        ({"limit": "x"}, 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ({"timeoutSeconds": "1.5"}, 400, 'strconv.ParseInt: parsing "1.5": invalid syntax'),
        ({"timeout": "x"}, 400, 'invalid timeout specified in the request URL - time: invalid duration "x"'),
        ({"timeout": "5"}, 400, 'invalid timeout specified in the request URL - time: invalid duration "5"'),
        (
            {"fieldSelector": "a=b"},
            400,
            '"a" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ({"fieldSelector": "a"}, 400, "invalid selector: 'a'; can't understand 'a'"),
        (
            {"resourceVersionMatch": "Exact"},
            422,
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden'
            " unless resourceVersion is provided",
        ),
        (
            {"sendInitialEvents": "true"},
            422,
            'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for'
            " list",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused_in_the_words_of_the_api_server(
    parameters: dict[str, str], code: int, message: str
) -> None:
    status = check_list_options(parameters)
    assert status is not None
    assert (status.code, status.message) == (code, message)
