"""HAR files for tests: entries with the fields that a test names, and defaults for all others."""

from __future__ import annotations

import json

from toolkit.local.settings import Settings


def pairs(values):
    """Return a mapping, or a list of pairs, as the format lists headers, cookies and parameters."""
    items = values.items() if isinstance(values, dict) else values
    return [{"name": name, "value": value} for name, value in items]


def entry(
    url="https://api.example.com/v1/a",
    method="GET",
    *,
    headers=(),
    cookies=(),
    post=None,
    status=200,
    received=(("Content-Type", "application/json"),),
    set_cookies=(),
    content=None,
    **members,
):
    """Return an entry; `members` are those of the entry itself, such as `time`."""
    request = {"method": method, "url": url, "httpVersion": "HTTP/2", "headers": pairs(headers)}
    request |= {"cookies": pairs(cookies), "queryString": [], "headersSize": -1, "bodySize": 0}
    if post is not None:
        request |= {"postData": post, "bodySize": len(post.get("text") or "x")}
    content = {"size": 2, "mimeType": "application/json", "text": "{}"} if content is None else content
    response = {"status": status, "statusText": "OK", "httpVersion": "HTTP/2", "headers": pairs(received)}
    response |= {
        "cookies": pairs(set_cookies),
        "content": content,
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": -1,
    }
    times = {"startedDateTime": "2026-05-12T09:30:00.250+02:00", "time": 125.5, "cache": {}, "timings": {}}
    return {**times, "request": request, "response": response, **members}


def har(*entries, creator="WebInspector"):
    """Return the text of a HAR file."""
    log = {"version": "1.2", "creator": {"name": creator, "version": "1"}, "pages": [], "entries": list(entries)}
    return json.dumps({"log": log})


def bare_settings(folder, **addresses):
    """Return settings of a project in a folder, with these addresses."""
    return Settings(addresses, project=folder)
