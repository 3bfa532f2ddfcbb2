"""What an adapter under measurement asks, as a process of its own: a Prometheus and an API server, both a stub.

The Prometheus answers any query with a series for each model; the API server lets the HorizontalPodAutoscaler list
metrics and nobody else do anything, and has no authentication ConfigMap, since the flags of the bench say whom to
trust. usage: python -m adapter.benches.upstreams MODELS; prints `ready PORT`.
"""

import re
import sys
import time
from collections.abc import Mapping

from aiohttp import web

from adapter.benches.floor import serve_until_killed
from adapter.benches.load import HPA

SCRAPE_SECONDS = 15
LOOK_BACK_SECONDS = 120


class Upstreams:
    """Both servers on one port: their paths have nothing in common."""

    def __init__(self, models: int) -> None:
        self._models = [f"model-{number}" for number in range(models)]

    async def query(self, request: web.Request) -> web.Response:
        """An instant query: one sample for each model, as old as the instant asked for."""
        parameters: Mapping[str, str] = {**request.query, **{k: str(v) for k, v in (await request.post()).items()}}
        at = float(parameters.get("time") or time.time())
        series = [{"model_name": model, "instance": "a"} for model in self._models]
        found = re.search(r"\[(\d+)s\]$", parameters.get("query", ""))
        if found is not None:
            # A tick's look-back is one sample; what is longer asks for the past, to fill a memory.
            past = range(int(found.group(1)) // SCRAPE_SECONDS if int(found.group(1)) > LOOK_BACK_SECONDS else 1)
            values = [[at - SCRAPE_SECONDS * age, "70"] for age in reversed(past)]
            result: list[object] = [{"metric": labels, "values": values} for labels in series]
            return _success(result, "matrix")
        return _success([{"metric": labels, "value": [at, "70"]} for labels in series], "vector")

    async def query_range(self, request: web.Request) -> web.Response:
        """A range query has no past here."""
        return _success([], "matrix")

    async def review_access(self, request: web.Request) -> web.Response:
        """A SubjectAccessReview."""
        review = await request.json()
        wanted = review["spec"].get("resourceAttributes") or {}
        is_allowed = review["spec"]["user"] == HPA and wanted.get("verb") == "list"
        return web.json_response({**review, "status": {"allowed": is_allowed}}, status=201)


def _success(result: list[object], kind: str) -> web.Response:
    return web.json_response({"status": "success", "data": {"resultType": kind, "result": result}})


async def application(models: int) -> web.Application:
    """The application with all routes."""
    upstreams = Upstreams(models)
    made = web.Application()
    for method in ("GET", "POST"):
        made.router.add_route(method, "/api/v1/query", upstreams.query)
        made.router.add_route(method, "/api/v1/query_range", upstreams.query_range)
    made.router.add_post("/apis/authorization.k8s.io/v1/subjectaccessreviews", upstreams.review_access)
    return made


def main() -> None:
    """Serve until killed."""
    serve_until_killed(application(int(sys.argv[1])), None)


if __name__ == "__main__":
    main()
