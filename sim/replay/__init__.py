"""Replay: a policy and its HPA over a trace, through the evaluator that serves and the model of the controller."""
