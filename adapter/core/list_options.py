"""The query parameters of a list request, checked as the API server checks them, with its answers.

A metric is not stored, so `limit`, `continue` and `resourceVersion` change nothing; what cannot be read or cannot be
meant is still refused, as by every other resource. The label selector is not read here.
"""

import re
from collections.abc import Mapping

from adapter.core.external_metrics import Cause, Details, Status, bad_request
from adapter.core.label_syntax import go_quote

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_DURATION = re.compile(r"[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_FIELDS = ("metadata.name", "metadata.namespace", "")


def check_list_options(parameters: Mapping[str, str]) -> Status | None:
    """The error that the parameters deserve, or None."""
    timeout = parameters.get("timeout", "")
    if timeout and not _DURATION.fullmatch(timeout):
        text = f"invalid timeout specified in the request URL - time: invalid duration {go_quote(timeout)}"
        return bad_request(text)
    for name in ("limit", "timeoutSeconds"):
        value = parameters.get(name, "")
        if value and not _INTEGER.fullmatch(value):
            return bad_request(f"strconv.ParseInt: parsing {go_quote(value)}: invalid syntax")
    if fault := _field_selector_fault(parameters.get("fieldSelector", "")):
        return bad_request(fault)
    if parameters.get("resourceVersionMatch") and not parameters.get("resourceVersion"):
        return _forbidden("resourceVersionMatch", "is forbidden unless resourceVersion is provided")
    if parameters.get("sendInitialEvents"):
        return _forbidden("sendInitialEvents", "is forbidden for list")
    return None


def _forbidden(field: str, rule: str) -> Status:
    message = f"Forbidden: {field} {rule}"
    details = Details(group="meta.k8s.io", kind="ListOptions", causes=(Cause("FieldValueForbidden", message, field),))
    return Status(422, "Invalid", f'ListOptions.meta.k8s.io "" is invalid: {field}: {message}', details)


def _field_selector_fault(selector: str) -> str:
    for term in selector.split(","):
        if not term:
            continue
        field, separator, _ = re.split(r"(!=|==|=)", term, maxsplit=1) if "=" in term else (term, "", "")
        if not separator:
            return f"invalid selector: '{selector}'; can't understand '{term}'"
        if field not in _FIELDS:
            return f'{go_quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"'
    return ""
