"""Reads the Prometheus text format into series, with the reference parser."""

from prometheus_client.parser import text_string_to_metric_families

from adapter.core.samples import Sample, Series, labels_of


def read_exposition(text: str, at: float) -> list[Series]:
    """Every sample of the text as a series of one sample taken at the instant."""
    return [
        Series(labels_of({**sample.labels, "__name__": sample.name}), (Sample(float(sample.value), at),))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
