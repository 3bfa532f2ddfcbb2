"""Comparing: what a change of policies, presets or HPAs does on traces, before it is merged."""
