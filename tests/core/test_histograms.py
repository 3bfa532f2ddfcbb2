"""Histograms: percentiles by hand, for one mode and for two."""

from adapter.core.histograms import Percentile, buckets_of

# 50 hits within 0.1 s, 40 more within 1 s, 8 within 5 s, 2 slower.
BUCKETS = buckets_of({"0.1": 50, "1": 90, "5": 98, "+Inf": 100})


def test_a_percentile_is_interpolated_within_its_bucket() -> None:
    assert BUCKETS is not None
    # The 95th of 100 is the fifth of the eight between 1 and 5: 1 + 4 × 5 ÷ 8 = 3.5
    assert BUCKETS.percentile(0.95) == Percentile(3.5, False)
    # The 25th of 50 in the first bucket, which begins at 0.
    assert BUCKETS.percentile(0.25) == Percentile(0.05, False)


def test_the_top_bucket_is_only_a_lower_bound() -> None:
    assert BUCKETS is not None
    assert BUCKETS.percentile(0.99) == Percentile(5.0, True)


def test_two_modes_are_told_apart_by_a_split() -> None:
    assert BUCKETS is not None
    # Ten of a hundred are above 1 s; at 3 s half of the eight between 1 and 5 are below: 100 - 94 = 6.
    assert BUCKETS.share_above(1.0) == 0.1
    assert BUCKETS.share_above(3.0) == 0.06
    # Of the ten slow ones the fifth: 1 + 4 × 5 ÷ 8 = 3.5
    assert BUCKETS.slow_percentile(0.5, 1.0) == Percentile(3.5, False)


def test_without_observations_there_is_no_percentile() -> None:
    empty = buckets_of({"1": 0, "+Inf": 0})
    assert empty is not None
    assert (empty.percentile(0.5), empty.share_above(1), empty.slow_percentile(0.5, 1)) == (None, None, None)
    assert BUCKETS is not None
    assert BUCKETS.slow_percentile(0.5, 10.0) == Percentile(5.0, True)


def test_what_has_no_infinite_bucket_or_a_bound_that_is_no_number_is_no_histogram() -> None:
    assert buckets_of({"1": 3, "2": 4}) is None
    assert buckets_of({"1": 3, "x": 4}) is None
    assert buckets_of({}) is None


def test_a_bucket_that_lags_a_scrape_is_raised_to_its_predecessor() -> None:
    lagging = buckets_of({"1": 10, "2": 8, "+Inf": 12})
    assert lagging is not None
    assert lagging.cumulative == (10, 10, 12)
