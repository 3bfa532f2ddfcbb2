"""Policy tests: what a policy and its HPA have to do on a trace, with faults, written beside the policy."""
