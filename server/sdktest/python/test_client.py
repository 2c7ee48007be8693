"""The Python SDK, unchanged, against a Parley server."""

import asyncio

import httpx
import pytest
from langgraph_sdk import get_client, get_sync_client

INPUT = {"messages": [{"role": "human", "content": "foo", "id": "m1"}]}


async def test_thread_run_and_state(server):
    client = get_client(url=server.url)
    thread = await client.threads.create(metadata={"from": "python"})
    chunks = [
        c
        async for c in client.runs.stream(
            thread["thread_id"], "agent", input=INPUT, stream_mode=["values", "updates", "messages-tuple"]
        )
    ]
    assert chunks[0].event == "metadata"
    text = "".join(c.data[0]["content"] for c in chunks if c.event == "messages" and c.data[0]["type"].startswith("ai"))
    assert text == "beginend"
    final = [c for c in chunks if c.event == "values"][-1]
    assert [m["content"] for m in final.data["messages"]] == ["foo", "begin", "tool_call__begin", "end"]
    state = await client.threads.get_state(thread["thread_id"])
    assert state["values"] == final.data
    assert len(await client.threads.get_history(thread["thread_id"])) == 5
    assert (await client.threads.get(thread["thread_id"]))["status"] == "idle"
    found = await client.threads.search(metadata={"from": "python"}, status="idle")
    assert thread["thread_id"] in [t["thread_id"] for t in found]


async def test_large_state_is_one_frame(server):
    """D-16: five megabytes in one data line; two readers of a run see the same ids."""
    client = get_client(url=server.url)
    thread = await client.threads.create()
    big = "x" * (5 << 20)
    message = {"role": "human", "content": "should_end", "id": "m1"}
    run = await client.runs.create(
        thread["thread_id"], "agent", input={"messages": [message], "keyOne": big}, stream_mode="values"
    )

    async def join():
        return [c async for c in client.runs.join_stream(thread["thread_id"], run["run_id"])]

    one, two = await asyncio.gather(join(), join())
    assert one[-1].data["keyOne"] == big
    assert [(c.event, c.id) for c in one] == [(c.event, c.id) for c in two]
    assert [c.id for c in one] == [str(i) for i in range(len(one))]


async def test_interrupt_survives_kill_and_resumes_with_update(durable):
    client = get_client(url=durable.url)
    thread = await client.threads.create()
    tid = thread["thread_id"]
    await client.runs.wait(tid, "agent", input={**INPUT, "interrupt": True})
    pending = await client.threads.get_state(tid)
    assert pending["tasks"][0]["interrupts"][0]["value"] == "i want to interrupt"
    durable.kill()
    durable.start()
    client = get_client(url=durable.url)
    assert await client.threads.get_state(tid) == pending
    card = {"type": "ai", "id": "card-1", "content": "approved by a person"}
    chunks = [
        c
        async for c in client.runs.stream(
            tid, "agent", command={"resume": {"approved": True}, "update": {"messages": [card]}}, stream_mode="values"
        )
    ]
    final = chunks[-1].data
    assert [m["id"] for m in final["messages"]].count("card-1") == 1
    assert (await client.threads.get(tid))["status"] == "idle"


async def test_update_state_and_fork(server):
    client = get_client(url=server.url)
    tid = (await client.threads.create())["thread_id"]
    await client.runs.wait(tid, "agent", input=INPUT, interrupt_before=["tool"])
    state = await client.threads.get_state(tid)
    edited = {**state["values"]["messages"][-1], "content": "modified"}
    await client.threads.update_state(tid, {"messages": [edited]})
    values = await client.runs.wait(tid, "agent", input=None)
    assert values["messages"][2]["content"] == "tool_call__modified"
    history = await client.threads.get_history(tid, limit=20)
    first = history[-1]["checkpoint"]
    values = await client.runs.wait(
        tid, "agent", input={"messages": [{"role": "human", "content": "again", "id": "m1"}]}, checkpoint=first
    )
    assert values["messages"][0]["content"] == "again"


async def test_join_cancel_and_list(server):
    client = get_client(url=server.url)
    tid = (await client.threads.create())["thread_id"]
    run = await client.runs.create(tid, "agent", input={**INPUT, "sleep": 30}, stream_mode=["values"])
    joined = asyncio.ensure_future(_collect(client.runs.join_stream(tid, run["run_id"])))
    await client.runs.cancel(tid, run["run_id"], wait=True)
    assert [c.event for c in await joined][0] == "metadata"
    assert (await client.runs.get(tid, run["run_id"]))["status"] == "interrupted"
    assert len(await client.runs.list(tid)) == 1


async def test_errors_are_told(server):
    client = get_client(url=server.url)
    tid = (await client.threads.create())["thread_id"]
    with pytest.raises(httpx.HTTPStatusError) as failure:
        await client.runs.create(tid, "no-such-agent", input=INPUT)
    assert failure.value.response.status_code == 404
    with pytest.raises(httpx.HTTPStatusError) as failure:
        await client.runs.create(tid, "agent", command={"resume": "nothing waits"})
    assert failure.value.response.status_code == 409
    chunks = [c async for c in client.runs.stream(tid, "error", input={"messages": []})]
    assert chunks[-1].event == "error"
    assert chunks[-1].data == {"error": "CustomError", "message": "Boo!"}


async def test_assistants_store_and_crons(server):
    client = get_client(url=server.url)
    a = await client.assistants.create("agent", config={"configurable": {"model_name": "x"}}, name="from python")
    assert (await client.assistants.get(a["assistant_id"]))["name"] == "from python"
    assert (await client.assistants.get_schemas(a["assistant_id"]))["graph_id"] == "agent"
    assert (await client.assistants.get_graph(a["assistant_id"]))["nodes"]
    await client.store.put_item(("py", "ns"), key="k", value={"x": 1})
    assert (await client.store.get_item(("py", "ns"), key="k"))["value"] == {"x": 1}
    assert [i["key"] for i in (await client.store.search_items(("py",), filter={"x": 1}))["items"]] == ["k"]
    tid = (await client.threads.create())["thread_id"]
    cron = await client.crons.create_for_thread(tid, "agent", schedule="0 0 1 1 *", input=INPUT)
    crons = await client.crons.search(thread_id=tid)
    assert len(crons) == 1
    await client.crons.delete(crons[0]["cron_id"])
    assert cron is not None


def test_synchronous_client(server):
    client = get_sync_client(url=server.url)
    tid = client.threads.create()["thread_id"]
    values = client.runs.wait(tid, "agent", input=INPUT)
    assert len(values["messages"]) == 4
    assert [c.event for c in client.runs.stream(None, "agent", input=INPUT, stream_mode="values")][0] == "metadata"


async def _collect(stream):
    return [c async for c in stream]
