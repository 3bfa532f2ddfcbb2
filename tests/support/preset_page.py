"""The page on presets, made from their data: `python tests/support/preset_page.py > docs/presets.md`."""

import sys

import yaml

from adapter.bundled import load_presets, policies_folder
from adapter.core.presets import Preset
from adapter.core.promql import selector

HEAD = """\
# Presets

What `{preset: FAMILY/NAME, match: {LABEL: VALUE}}` reads. This page is made from `policies/presets/*.yaml`; beside each
family lies a sample of its exporters with the numbers that its presets make of it (`policies/presets/samples/`).

* *Unit* is what a policy gets: shares are 0 to 1 and memory is in bytes, whatever the exporter's unit is.
* *Kind* says what a term may do with it. A `gauge` or `arrivals` divide when replicas are added. `completions` and
  `bounded` saturate when the replicas are full, a `condition` is a state that more replicas do not divide, an `event`
  is a time: terms refuse them, a `when`, a guard or an expression reads them. A `histogram` is for latency terms, or
  for any with `share_above`.
* *Reads* names the metrics. Of those with `or` between them a pod's first counts: they are renames, never added. `Σ`
  adds series, `÷` divides them, `Δ` is the change per second, `rate` a counter's growth per second over the window.
"""


def page() -> str:
    """The whole page."""
    library, parts = load_presets(), [HEAD]
    inputs, replicas = library.names()
    for path in sorted((policies_folder() / "presets").glob("*.yaml")):
        family = yaml.safe_load(path.read_text())["family"]
        comment = [line[1:].strip() for line in path.read_text().splitlines() if line.startswith("#")]
        parts.append(f"\n## {family}\n\n" + "\n".join(comment) + "\n")
        rows = []
        for name in inputs:
            preset = library.input(name)
            if name.startswith(f"{family}/") and preset is not None:
                rows.append(f"| `{name}` | {preset.unit.base} | {preset.kind} | {_reads(preset)} | {preset.about} |")
        parts.append("\n| preset | unit | kind | reads | what |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n")
        owners = []
        for name in replicas:
            found = library.replicas(name)
            if name.startswith(f"{family}/") and found is not None:
                owners.append(f"| `{name}` | `{found.spec.metric}`, `{found.ready.metric}` | {found.about} |")
        if owners:
            parts.append("\n| for replicas | reads | what |\n|---|---|---|\n" + "\n".join(owners) + "\n")
    return "".join(parts)


def _reads(preset: Preset) -> str:
    """The metrics of a preset in words."""
    texts = {}
    for name, series in preset.series.items():
        selectors = [selector(metric, series.match).replace("|", "\\|") for metric in series.metrics]
        metrics = " or ".join(f"`{text}`" for text in selectors)
        sign = {"rate": "rate ", "change": "Δ "}.get(series.take, "") if preset.kind != "histogram" else ""
        texts[name] = f"{sign}{metrics}"
    if preset.share is not None:
        whole = " + ".join(texts[name] for name in preset.share.of)
        instead = f", else {texts[preset.share.instead]}" if preset.share.instead else ""
        return f"{texts[preset.share.used]} ÷ ({whole}){instead}"
    if preset.gate is not None:
        return f"{texts[preset.gate.value]} where {texts[preset.gate.where]}"
    sum_sign = "Σ " if len(texts) > 1 else ""
    return sum_sign + ", ".join(texts.values())


if __name__ == "__main__":
    sys.stdout.write(page())
