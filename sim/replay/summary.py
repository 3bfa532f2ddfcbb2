"""The summary of a run: what was run, with every default that was chosen, what was found, and the scores."""

from collections.abc import Sequence
from dataclasses import dataclass

from sim.replay.findings import Finding
from sim.replay.runner import Run
from sim.replay.subject import Subject
from sim.scores import Baseline, Provisioning, Scores


@dataclass(frozen=True, slots=True)
class Summary:
    """One run, told."""

    subject: Subject
    run: Run
    scores: Scores
    findings: Sequence[Finding]
    gpus_per_replica: float

    @property
    def is_conclusive(self) -> bool:
        """Whether the run shows what the policy would have done."""
        return not any(one.is_inconclusive for one in self.findings)

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        header = self.run.trace.header
        return {
            "mode": self.run.parameters.mode,
            "result": "conclusive" if self.is_conclusive else "inconclusive",
            "policy": self.subject.policy_name,
            "hpa": self.subject.hpa_words,
            "trace": header.source,
            "said": [*self.subject.said, *self.run.notes],
            "parameters": self.parameters(),
            "holes": [[hole.start, hole.end] for hole in header.holes],
            "blank_samples": sum(header.blanks.values()),
            "findings": [one.as_data() for one in self.findings],
            "scores": self.scores.as_data(),
        }

    def parameters(self) -> dict[str, object]:
        """The parameters as they were chosen; times in seconds."""
        parameters, chosen = self.run.parameters, self.run.chosen
        return {
            "kubernetes": parameters.kubernetes,
            "sync": parameters.sync,
            "hpa_phase": parameters.hpa_phase,
            "hpa_latency": parameters.hpa_latency,
            "scrape": chosen.scrape,
            "scrape_phase": parameters.scrape_phase,
            "rescraped": parameters.scrape is not None or parameters.fill is not None,
            "fill": parameters.fill,
            "offset": chosen.offset,
            "evaluation_phase": parameters.evaluation_phase,
            "startup": chosen.startup.text,
            "replicas_at_start": chosen.replicas,
            "seed": parameters.seed,
            "gpus_per_replica": self.gpus_per_replica,
        }

    def lines(self) -> list[str]:
        """For people."""
        data = self.parameters()
        shown = ", ".join(f"{key} {_shown(value)}" for key, value in data.items() if value is not None)
        result = "conclusive" if self.is_conclusive else "INCONCLUSIVE"
        found = [
            f"mode {self.run.parameters.mode}: {result}",
            f"policy {self.subject.policy_name}, HPA {self.subject.hpa_words}, trace {self.run.trace.header.source}",
            f"with {shown}",
        ]
        found += [f"note: {one}" for one in (*self.subject.said, *self.run.notes)]
        found += [
            f"{'inconclusive' if one.is_inconclusive else 'finding'}: {one.message} [{one.code}]"
            for one in self.findings
        ]
        return [*found, "", *_score_lines(self.scores)]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _score_lines(scores: Scores) -> list[str]:
    total = max(1e-9, scores.seconds)
    reach = "-"
    if scores.seconds_to_reach_p50 is not None:
        reach = (
            f"p50 {scores.seconds_to_reach_p50:g} s, p95 {scores.seconds_to_reach_p95:g} s of {scores.steps_reached}"
        )
    rows = [
        ("syncs", f"{scores.syncs} in {scores.seconds:g} s, {scores.syncs_without_metric} without a metric"),
        ("replica-hours, GPU-hours", f"{scores.replica_hours:.2f}, {scores.gpu_hours:.2f}"),
        ("replicas", f"at most {scores.most_replicas}, highest demand {_number(scores.highest_demand)}"),
        ("pod starts, rescales, flaps", f"{scores.pod_starts}, {scores.rescales}, {scores.flaps}"),
        ("longest spell under demand", f"{scores.longest_under_demand_seconds:g} s"),
        ("time to reach a step", f"{reach}; {scores.steps_gone} were gone before"),
        ("under demand", _theta(scores.provisioning, "under")),
        ("over demand", _theta(scores.provisioning, "over")),
        (
            "at maxReplicas",
            f"{scores.seconds_at_ceiling:g} s ({100 * scores.seconds_at_ceiling / total:.1f} % of the time)",
        ),
        ("fixed at the peak", _baseline(scores.fixed_at_peak)),
        ("fixed at the mean", _baseline(scores.fixed_at_mean)),
    ]
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {text}" for name, text in rows]


def _number(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def _theta(found: Provisioning, side: str) -> str:
    theta, tau = getattr(found, f"theta_{side}"), getattr(found, f"tau_{side}")
    return "unknown" if theta is None else f"θ {theta:.2f} %, τ {tau:.1f} % of the time"


def _baseline(found: Baseline | None) -> str:
    if found is None:
        return "unknown"
    hours = f"{found.replicas} replicas: {found.replica_hours:.2f} replica-hours"
    return f"{hours}, under {_theta(found.provisioning, 'under')}, over {_theta(found.provisioning, 'over')}"
