"""The language reference: a page made from the schema, with an example for each part that a test executes.

Field names, types, defaults, ranges and words all come from the models by way of the schema; only the order of the
parts and the examples stand here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from adapter.core.policy_schema import described_schema
from adapter.core.presets import PresetLibrary
from adapter.core.written_forms import ALLOWED

Node = Mapping[str, Any]

HEAD = """\
# Language reference

Made from the models by `scaleproof schema --output markdown`; a test keeps it current. [policy.md](policy.md) says what
the parts mean together, [lints](lints/README.md) what scales badly. `scaleproof schema` writes the JSON Schema: with

```yaml
# yaml-language-server: $schema=scalingpolicy.schema.json
```

as the first line of a policy, editors complete and validate it. Each example is a part of `spec` and is checked by a
test.
"""

PARTS: Mapping[str, tuple[str, str]] = {
    "Policy": ("The document", ""),
    "Metadata": ("metadata", ""),
    "Spec": ("spec", ""),
    "PresetInput": ("inputs: by preset", 'inputs:\n  gpu: {preset: dcgm/engine-active, match: {pod: "~chat-.*"}}\n'),
    "QueryInput": (
        "inputs: by own query",
        "inputs:\n  gpu: {query: accelerator_busy, unit: percent, reduce: mean, missing: {hold: 2m}}\n",
    ),
    "CacheSplit": (
        "inputs: cache",
        "inputs:\n  slow: {preset: generic/request-latency, quantile: 0.95, cache: {label: cache}}\n",
    ),
    "MissingRule": (
        "missing",
        "inputs:\n"
        "  gpu: {preset: dcgm/engine-active, missing: error}\n"
        "  kv: {preset: vllm/kv-cache-usage, missing: {hold: 90s}}\n"
        "  flight: {preset: vllm/requests-in-flight, missing: {assume: 0, scale_down: allowed}}\n",
    ),
    "ReplicasPreset": (
        "replicas: by preset",
        "replicas: {preset: kube/deployment-replicas, match: {deployment: chat}}\n",
    ),
    "ReplicasQuery": (
        "replicas: by own queries",
        'replicas: {query: "replicas_wanted{app=\\"chat\\"}", ready: "replicas_ready{app=\\"chat\\"}"}\n',
    ),
    "Capacity": ("capacity", "capacity: {rate_per_replica: 4.4/s, cold_start: 2m}\n"),
    "ThroughputTerm": (
        "terms: throughput",
        "terms:\n  load: {throughput: arrivals, share: {up: 80%, down: 70%}, plus: {backlog: waiting, drain: 2m}}\n",
    ),
    "BacklogTerm": ("terms: backlog", "terms:\n  queue: {backlog: waiting, drain: 3m, rate_per_replica: 4.4/s}\n"),
    "Drain": ("terms: plus", "terms:\n  load: {throughput: arrivals, plus: {backlog: waiting}}\n"),
    "ConcurrencyTerm": (
        "terms: concurrency",
        "terms:\n  batch: {concurrency: flight, per_replica: {up: 10, down: 8}}\n",
    ),
    "UtilizationTerm": ("terms: utilization", "terms:\n  compute: {utilization: gpu, target: 70%}\n"),
    "HeadroomTerm": (
        "terms: headroom",
        "terms:\n"
        "  cache: {headroom: kv, keep_free: {up: 35%, down: 45%}}\n"
        "  memory: {headroom: vram, base: 50GiB, capacity: 80GiB, keep_free: 8GiB}\n",
    ),
    "UpDown": ("keep_free: by direction", "terms:\n  cache: {headroom: kv, keep_free: {up: 0.35, down: 45%}}\n"),
    "LatencyTerm": (
        "terms: latency",
        'terms:\n  slow: {latency: ttft, objective: 2s, max_step: 50%, when: "gpu > 70%"}\n',
    ),
    "ExpressionTerm": (
        "terms: expression",
        'terms:\n  own: {expression: "max(flight / 10, waiting / 4)", down: "flight / 8 + waiting"}\n',
    ),
    "Shape": (
        "shape",
        "terms:\n  batch:\n    concurrency: flight\n    per_replica: 10\n"
        "    shape: {up: {sustained: 30s}, down: {window: 5m, take: max}, trend: {window: 5m, horizon: 2m}}\n",
    ),
    "WindowShape": (
        "shape: by direction",
        "terms:\n  batch: {concurrency: flight, per_replica: 10, shape: {down: {window: 2m, take: 0.9}}}\n",
    ),
    "TrendShape": (
        "shape: trend",
        "terms:\n  batch: {concurrency: flight, per_replica: 10, shape: {trend: {window: 5m, horizon: 2m}}}\n",
    ),
    "Combine": ("combine", "combine: {weighted: {load: 2, batch: 1}}\n"),
    "Stability": (
        "stability",
        "stability:\n  hysteresis: {down: {replicas: 1, share: 10%}}\n  step: {up: 100%, down: 20%}\n"
        "  cooldown: {down: 5m}\n  credit: 2m\n",
    ),
    "AmountByDirection": ("stability: amounts", "stability: {hysteresis: {up: 0.5, down: 1}}\n"),
    "TimeByDirection": ("stability: times", "stability: {cooldown: {up: 30s, down: 5m}}\n"),
    "Guard": ("guards", "guards:\n- {hold_scale_down: {after: oom-kill}}\n- {hold_scale_down: {alert: ModelErrors}}\n"),
    "Hold": (
        "guards: hold_scale_down and hold_scale_up",
        'guards:\n- {hold_scale_down: {when: "kv_max > 95%", for: 5m, max: 30m}}\n',
    ),
    "Publish": ("publish", "publish: {metric: chat-replicas, as: replicas, floor: 1, ceiling: 32}\n"),
    "Schedule": (
        "publish: schedule",
        "publish:\n  metric: chat-replicas\n"
        "  schedule:\n  - {cron: 0 8 * * 1-5, zone: Europe/Berlin, for: 10h, floor: 4}\n",
    ),
    "Budget": ("publish: budget", "publish: {metric: chat-replicas, budget: {gpus: 64, gpus_per_replica: 4}}\n"),
    "Override": (
        "overrides",
        "by: {model_name: [chat, code]}\noverrides:\n  code: {capacity: {rate_per_replica: 2/s}, ceiling: 8}\n",
    ),
}
"""Model → title of its part and an example; every model of the schema has one."""


def reference(library: PresetLibrary) -> str:
    """The page, in Markdown."""
    schema = described_schema()
    definitions = {"Policy": schema, **schema["$defs"]}
    parts = [HEAD]
    for name, (title, example) in PARTS.items():
        parts.append("\n".join(_part(title, definitions[name], example)))
    parts.append("\n".join(_presets(library)))
    return "\n".join(parts)


def _part(title: str, model: Node, example: str) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{model['description']}\n"
    if "properties" in model:
        yield "| key | type and range | default | meaning |\n|---|---|---|---|"
        required = model.get("required", ())
        for key, field in sorted(model["properties"].items(), key=lambda pair: pair[0] not in required):
            default = "required" if key in required else _code(field["default"]) if "default" in field else ""
            yield f"| `{key}` | {_cell(_type(field))} | {default} | {_cell(str(field.get('description', '')))} |"
        yield ""
    else:
        yield f"One of: {_cell(_type(model))}.\n"
    if example:
        yield f"```yaml\n{example}```\n"


def _code(value: object) -> str:
    if isinstance(value, list):
        return f"`[{', '.join(map(str, value))}]`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _type(field: Node) -> str:
    """What a field takes, in words."""
    if ALLOWED in field:
        return str(field[ALLOWED])
    if "$ref" in field:
        return _named(str(field["$ref"]).rpartition("/")[2])
    if "enum" in field:
        return ", ".join(_code(value) for value in field["enum"])
    if "const" in field:
        return _code(field["const"])
    for key in ("anyOf", "oneOf"):
        if key in field and "properties" not in field:
            return ", or ".join(dict.fromkeys(_type(way) for way in field[key]))
    match field.get("type"):
        case "array":
            return f"a list of {_type(field['items'])}"
        case "object" if "properties" in field:
            keys = ", ".join(f"{key}: {_type(value)}" for key, value in field["properties"].items())
            return f"{{{keys}}}"
        case "object":
            return f"a mapping of names to {_type(field.get('additionalProperties', {}))}"
        case "string":
            return "text"
        case "boolean":
            return "`true` or `false`"
        case kind:
            return f"a {kind}" if kind else "a number or text"


def _named(model: str) -> str:
    if model == "Unit":
        return "`count`, `ratio`, `percent`, `bytes`, `seconds` or `per_second`"
    title = PARTS[model][0]
    anchor = "".join(one for one in title.lower().replace(" ", "-") if one.isalnum() or one in "-_")
    return f"[{title}](#{anchor})"


def _presets(library: PresetLibrary) -> Iterator[str]:
    inputs, replicas = library.names()
    yield "## Presets\n"
    yield "| preset | unit | what |\n|---|---|---|"
    for name in inputs:
        preset = library.input(name)
        if preset is not None:
            yield f"| `{name}` | {preset.unit} | {_cell(' '.join(preset.about.split()))} |"
    for name in replicas:
        found = library.replicas(name)
        if found is not None:
            yield f"| `{name}` | replicas | {_cell(' '.join(found.about.split()))} |"
    yield ""
