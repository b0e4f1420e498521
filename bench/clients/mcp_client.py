"""PyPI's `mcp` (Model Context Protocol) over `calque serve --mcp FOLDER`; URL is not used."""
import asyncio
import json
import os
import tempfile

from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from common import LONG, MODEL, PROGRAM, TEXTS, check, expected, finish


async def used(session, tool, **arguments):
    """The structured answer; its text is the same JSON. None: the tool reports an error."""
    result = await session.call_tool(tool, arguments)
    if result.is_error:
        return None, result.content[0].text
    check(json.loads(result.content[0].text) == result.structured_content, f"{tool}: text and structure differ")
    return result.structured_content, None


async def talk(folder):
    program = StdioServerParameters(command=PROGRAM, args=["serve", "--mcp", folder, "--model", MODEL])
    async with stdio_client(program) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        check(hello.server_info.name == "calque", "the server's name")
        await session.send_ping()
        tools = (await session.list_tools()).tools
        check([t.name for t in tools] == ["search", "read", "similarity"], "the tools")

        found, _ = await used(session, "search", query=TEXTS[0], k=len(TEXTS) + 1, mode="dense")
        check(found["hits"][0]["id"] == "0.txt", "the first hit is not the query itself")
        ids, offset = [], 0
        while offset is not None:
            page, _ = await used(session, "search", query=TEXTS[0], k=2, offset=offset, mode="dense")
            ids += [hit["id"] for hit in page["hits"]]
            offset = page.get("next_offset")
        check(ids == [hit["id"] for hit in found["hits"]], f"pages: {ids}")

        text, begin = "", 0
        while begin is not None:
            part, _ = await used(session, "read", id="long.txt", begin=begin)
            text += part["text"]
            begin = part.get("next_begin")
        check(text.strip() == (LONG * 5).strip(), "a long document in parts")

        same, _ = await used(session, "similarity", texts=TEXTS)
        vectors = expected()
        worst = max(abs(sum(x * y for x, y in zip(a, b)) - same["similarity"][i][k])
                    for i, a in enumerate(vectors) for k, b in enumerate(vectors))
        check(worst < 1e-5, f"similarity differs by {worst:.3g}")

        _, error = await used(session, "read", id="nowhere")
        check(error == "there is no document 'nowhere'", f"an error of a tool: {error}")
        _, error = await used(session, "search", query="x", mode="nothing")
        check(error is not None and "'mode' is 'nothing'" in error, f"a wrong argument: {error}")
        for tool, arguments in [("nothing", {}), ("", {})]:
            try:
                await session.call_tool(tool, arguments)
                check(False, f"tool '{tool}': no error")
            except MCPError as e:
                check(e.error.code == -32602, f"tool '{tool}': {e}")

        with open(os.path.join(folder, "new.txt"), "w", encoding="utf-8") as file:
            file.write("The ferry leaves at noon.\n")
        os.remove(os.path.join(folder, "1.txt"))
        part, _ = await used(session, "read", id="new.txt")
        check(part is not None and part["text"].startswith("The ferry"), "a new file is not seen")
        _, error = await used(session, "read", id="1.txt")
        check(error is not None, "a removed file is still there")

        slow = asyncio.create_task(session.call_tool("similarity", {"texts": [LONG] * 100}))
        await asyncio.sleep(0.05)
        slow.cancel()
        try:
            await slow
        except asyncio.CancelledError:
            pass
        part, _ = await used(session, "read", id="0.txt")
        check(part is not None, "no answer after a call that was cancelled")


with tempfile.TemporaryDirectory() as folder:
    for i, text in enumerate(TEXTS):
        with open(os.path.join(folder, f"{i}.txt"), "w", encoding="utf-8") as file:
            file.write(text + "\n")
    with open(os.path.join(folder, "long.txt"), "w", encoding="utf-8") as file:
        file.write(LONG * 5)
    asyncio.run(talk(folder))
finish()
