"""What a cluster has to have before the adapter can work in it, looked at and judged; the judges know no I/O."""
