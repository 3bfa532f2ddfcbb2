"""The arithmetic of one sync in words: what each metric's terms made of the inputs, and what the HPA made of that.

The lines come from the accounts that were written while it was decided, so they cannot differ from the decision.
"""

from sim.replay.steps import MetricStep, SyncStep


def kind_of(step: SyncStep) -> str:
    """What the sync was: failed, up, down, limited (a bound or policy held it), held (a window did) or steady."""
    account = step.account
    if step.is_rescale:
        return "up" if step.desired > step.replicas else "down"
    if account.path == "scale-unreadable" or (account.path == "metrics" and account.proposal is None):
        return "failed"
    if account.limited_by is not None:
        return "limited"
    return "held" if account.stabilized != account.want else "steady"


def arithmetic(step: SyncStep) -> list[str]:
    """Every line of it, from the inputs to the replicas."""
    found: list[str] = []
    for metric in step.metrics:
        found += _metric_lines(metric)
    found += [f"HPA: {line}" for line in step.account.lines()]
    return found


def _metric_lines(metric: MetricStep) -> list[str]:
    why = metric.outcome.why if metric.outcome is not None else None
    terms = [] if why is None else [f"term {term.name}: {term.text or f'U {term.up:.6g}'}" for term in why.terms]
    if metric.text is None:
        message = f": {metric.message}" if metric.message else ""
        return [*terms, f"{metric.name}: no value ({metric.reason}{message})"]
    decided = f" by {why.decided_by}" if why is not None else ""
    guards = [] if why is None else [f"guard: {one.text}" for one in why.guards if one.is_holding]
    return [*terms, *guards, f"{metric.name} = {metric.text}{decided}"]
