"""Calls of Covia's Python client, unmodified: prints what they answered as one line of JSON."""

import hashlib
import json
import sys

from covia import Grid

url = sys.argv[1]
seen = {}
with Grid.connect(url) as venue:
    seen["status"] = venue.status().status
    seen["did"] = venue.did
    seen["operations"] = len(venue.list_operations())
    created = venue.run("v/ops/file/create", {"path": "file://tmp/a.txt", "content": {"inline": "from python"}})
    seen["created"] = created
    seen["read"] = venue.run("file:read", {"path": created["ref"]})
    seen["moved"] = venue.run("file:move", {"from": "file://tmp/a.txt", "to": "b.txt"})
    seen["copied"] = venue.run("file:copy", {"root": "tmp", "from": "b.txt", "to": "file://tmp/c.txt"})
    content = b"bytes of an asset"
    asset = venue.register({"name": "asset", "content": {"sha256": hashlib.sha256(content).hexdigest()}})
    asset_id = getattr(asset, "id", asset)
    venue.put_asset_content(asset_id, content)
    seen["asset"] = venue.get_asset_content(asset_id) == content
    seen["written"] = venue.run("file:write", {"path": "file://tmp/d.bin", "contentRef": str(asset_id)})
    job = venue.invoke("file:list", {"path": "file://tmp"})
    job.wait(timeout=120)
    seen["names"] = [entry["name"] for entry in job.output["entries"]]
    seen["job"] = venue.get_job(job.id).id == job.id
    try:
        venue.run("file:create", {"path": "file://tmp/b.txt"})
    except Exception as error:  # The class of failed jobs; its text is what counts here.
        seen["failed"] = str(error)
print(json.dumps(seen))
