"""The status conditions of the HorizontalPodAutoscaler, each status and reason the controller can set.

A condition that a reconcile does not set keeps its old value, so they are part of the state.
"""

from typing import NamedTuple


class Condition(NamedTuple):
    """One condition's status ("True" or "False") and reason."""

    status: str
    reason: str


# AbleToScale
FAILED_GET_SCALE = Condition("False", "FailedGetScale")
SUCCEEDED_GET_SCALE = Condition("True", "SucceededGetScale")
FAILED_UPDATE_SCALE = Condition("False", "FailedUpdateScale")
SUCCEEDED_RESCALE = Condition("True", "SucceededRescale")
READY_FOR_NEW_SCALE = Condition("True", "ReadyForNewScale")
SCALE_UP_STABILIZED = Condition("True", "ScaleUpStabilized")
SCALE_DOWN_STABILIZED = Condition("True", "ScaleDownStabilized")

# ScalingActive
SCALING_DISABLED = Condition("False", "ScalingDisabled")
VALID_METRIC_FOUND = Condition("True", "ValidMetricFound")
FAILED_GET_METRIC = {
    "External": Condition("False", "FailedGetExternalMetric"),
    "Object": Condition("False", "FailedGetObjectMetric"),
    "Pods": Condition("False", "FailedGetPodsMetric"),
}

# ScalingLimited
DESIRED_WITHIN_RANGE = Condition("False", "DesiredWithinRange")
SCALE_UP_LIMIT = Condition("True", "ScaleUpLimit")
SCALE_DOWN_LIMIT = Condition("True", "ScaleDownLimit")
TOO_MANY_REPLICAS = Condition("True", "TooManyReplicas")
TOO_FEW_REPLICAS = Condition("True", "TooFewReplicas")

# ScaledToZero
SCALED_TO_ZERO = Condition("True", "ScaledToZero")
NOT_SCALED_TO_ZERO = Condition("False", "NotScaledToZero")
