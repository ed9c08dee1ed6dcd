"""What the official Python client of MCP, unmodified, does with resources: prints it as one line of JSON."""

import json
import os
import sys
from pathlib import Path

import anyio
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp_types import ResourceTemplateReference

version, folder, server, *args = sys.argv[1:]
is_modern = version == "2026-07-28"
FILE = "venue://docs/a.txt"


async def main():
    seen = {"updated": []}
    told = anyio.Event()

    def update(uri):
        seen["updated"].append(str(uri))
        told.set()

    async def on_message(message):
        if not is_modern and getattr(message, "method", None) == "notifications/resources/updated":
            update(message.params.uri)

    async def change(client):
        Path(folder, "a.txt").write_text("new")
        with anyio.fail_after(10):
            await told.wait()
        seen["changed"] = (await client.read_resource(FILE)).contents[0].text

    where = server if args == [] else StdioServerParameters(command=server, args=args, env=dict(os.environ))
    async with Client(where, mode=version if is_modern else "legacy", message_handler=on_message) as client:
        seen["version"] = client.protocol_version
        seen["listed"] = [str(one.uri) for one in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resource_templates
        seen["templates"] = [one.uri_template for one in templates]
        seen["read"] = (await client.read_resource(FILE)).contents[0].text
        ref = ResourceTemplateReference(uri=templates[0].uri_template)
        completed = await client.complete(ref, {"name": "path", "value": "s"}, {"root": "docs"})
        seen["completed"] = completed.completion.values
        try:
            await client.read_resource("venue://docs/none")
        except MCPError as error:
            seen["missing"] = error.error.code
        if is_modern:
            async with client.listen(resource_subscriptions=[FILE]) as events:
                async with anyio.create_task_group() as group:
                    group.start_soon(change, client)
                    async for event in events:
                        update(event.uri)
                        break
        elif args:  # Over HTTP earlier revisions have no stream to tell of changes.
            await client.subscribe_resource(FILE)
            await change(client)
            await client.unsubscribe_resource(FILE)
    print(json.dumps(seen))


anyio.run(main)
