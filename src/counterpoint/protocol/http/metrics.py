"""Counts and times of requests, written in the OpenMetrics 1.0 text format.

Layout: for each family `# TYPE`, for seconds `# UNIT`, `# HELP`, then its samples; `# EOF` ends it. A
counter's sample ends in `_total`; a histogram has `_bucket` samples that rise with `le` up to `+Inf`,
then `_count` and `_sum`. Labels are only words that this program knows: a caller cannot make one.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

MEDIA_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds of the histogram, in seconds."""

_REQUESTS = "counterpoint_requests"
_SECONDS = "counterpoint_request_duration_seconds"


class Metrics:
    """What a server counts about itself; may be counted and rendered from several threads."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, str], int] = {}
        self._buckets = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def count(self, *, method: str, tool: str, outcome: str, seconds: float) -> None:
        """Count one request."""
        labels = (method, tool, outcome)
        with self._lock:
            self._requests[labels] = self._requests.get(labels, 0) + 1
            self._buckets[bisect_left(BOUNDS, seconds)] += 1
            self._sum += seconds

    def render(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Return the whole exposition.

        gauges: name → (help, value); one whose name ends in `_total` only rises: it is a counter.
        """
        with self._lock:
            # Copied under the lock and rendered outside of it, so that no request waits for it.
            requests, buckets = sorted(self._requests.items()), list(self._buckets)
            total = self._sum
        lines = [
            f"# TYPE {_REQUESTS} counter",
            f"# HELP {_REQUESTS} Requests by method, tool and outcome.",
        ]
        for (method, tool, outcome), count in requests:
            labels = _labels(method=method, tool=tool, outcome=outcome)
            lines.append(f"{_REQUESTS}_total{labels} {count}")
        lines += _histogram(buckets, total)
        for name, (words, value) in sorted(gauges.items()):
            family = name.removesuffix("_total")
            kind = "gauge" if family == name else "counter"
            lines += [f"# TYPE {family} {kind}", f"# HELP {family} {_escape(words)}"]
            lines.append(f"{name} {_number(value)}")
        return "\n".join([*lines, "# EOF", ""])


def _histogram(buckets: list[int], total: float) -> list[str]:
    lines = [
        f"# TYPE {_SECONDS} histogram",
        f"# UNIT {_SECONDS} seconds",
        f"# HELP {_SECONDS} Time from a request's arrival to its answer.",
    ]
    count = 0
    for bound, bucket in zip((*BOUNDS, math.inf), buckets, strict=True):
        count += bucket
        lines.append(f"{_SECONDS}_bucket{_labels(le=_number(bound))} {count}")
    return [*lines, f"{_SECONDS}_count {count}", f"{_SECONDS}_sum {_number(total)}"]


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf"
    return str(value) if isinstance(value, int) else repr(value)


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escape(text)}"' for name, text in labels.items()) + "}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
