"""A trace small enough to work out every number by hand: one Deployment `m`, two pods, steps of 15 s."""

from sim.traces.metric_trace import COLUMNS, MetricTrace, parse_metric_trace

# Pod a serves throughout: its waiting grows by 10 a second, it completes 20 a second.
# Pod b is there at 0 s only, and still loads. At 30 s replicas are 1.
ROWS = """
0,m,2,1,m-5d4-a,1,0,0,0,10,0.5,0.8,1000,500,10
0,m,2,1,m-5d4-b,0,,,,,,0.0,300,1200,10
15,m,2,1,m-5d4-a,1,450,300,150,10,0.5,0.8,1000,500,10
30,m,1,1,m-5d4-a,1,900,600,300,10,0.5,0.8,1000,500,10
"""


def small_trace() -> MetricTrace:
    return parse_metric_trace(",".join(COLUMNS) + ROWS)
