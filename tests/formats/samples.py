"""One small conversation of each JSON shape, with the places of its texts; all names and texts are invented."""

from typing import Any

ASK = "Well hello there, so could you please move the tasting to the Holm room, but not before 9 June?"
ANSWER = "Sure, of course, I would be so very happy to help you with that! The tasting is in the Holm room on 9 June."
THANKS = "Okay, thank you so much, that is really lovely of you, honestly, you are a star, and so on and so forth."

CALL = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"room":  "Holm"}'}}

OPENAI = [
    {"role": "system", "content": "Speak plainly."},
    {"role": "user", "name": "Ulla", "content": [{"type": "text", "text": ASK}, {"type": "image_url", "image_url": {"url": "u"}}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"ok": true}'},
    {"role": "assistant", "content": ANSWER, "weight": 1},
    {"role": "user", "content": THANKS},
]  # fmt: skip
ANTHROPIC = [
    {"role": "user", "content": ASK},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "well, um", "signature": "s"},
            {"type": "text", "text": ANSWER, "cache_control": {"type": "ephemeral"}},
            {"type": "tool_use", "id": "t1", "name": "book", "input": {"room": "Holm", "text": THANKS}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": THANKS}]},
]
RESPONSES = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASK}]},
    {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": THANKS}], "encrypted_content": "x"},
    {"type": "function_call", "call_id": "c1", "name": "book", "arguments": '{"room":"Holm"}'},
    {"type": "function_call_output", "call_id": "c1", "output": THANKS},
    {
        "role": "assistant",
        "content": [{"type": "output_text", "text": ANSWER, "annotations": []}],
        "status": "completed",
    },
    {"role": "user", "content": THANKS},
]
TELEMETRY_IN = [
    {"role": "user", "parts": [{"type": "text", "content": ASK}]},
    {"role": "assistant", "parts": [{"type": "reasoning", "content": THANKS}, {"type": "tool_call", "id": "e1", "name": "f", "arguments": {}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "e1", "response": {"text": THANKS}}]},
]  # fmt: skip
TELEMETRY_OUT = [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}]


def constructor(name: str, **kwargs: Any) -> dict[str, Any]:
    """A message in the envelope of LangChain's `dumpd`."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kwargs}


def slack(user: str, text: str, ts: str, **more: Any) -> dict[str, Any]:
    """An event of a Slack export."""
    return {"client_msg_id": "m", "type": "message", "text": text, "user": user, "ts": ts, "team": "T1", **more}


DOCUMENTS: dict[str, tuple[str, Any, int, str]] = {
    # name: (shape, document, number of turns, expression for the places of texts that may change)
    "openai list": ("openai", OPENAI, 6, r"/\d+/content(/\d+/text)?"),
    "openai request": (
        "openai",
        {"model": "m", "messages": OPENAI, "tools": [{"description": THANKS}], "n": 1},
        6,
        r"/messages/\d+/content.*",
    ),
    "openai batch request": (
        "openai",
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": OPENAI}},
        6,
        r"/body/messages/\d+/content.*",
    ),
    "openai batch output": (
        "openai",
        {
            "id": "b",
            "custom_id": "a",
            "error": None,
            "response": {
                "status_code": 200,
                "body": {"choices": [{"index": 0, "message": OPENAI[4]}, {"index": 1, "message": OPENAI[4]}]},
            },
        },
        2,
        r"/response/body/choices/\d/message/content",
    ),
    "openai preferences": (
        "openai",
        {"input": {"messages": OPENAI[:2]}, "preferred_output": OPENAI[4:5], "non_preferred_output": OPENAI[4:5]},
        4,
        r"/(input/messages|(non_)?preferred_output)/\d/content.*",
    ),
    "lmsys": ("sharegpt", {"conversation_id": "x", "conversation": OPENAI[4:]}, 2, r"/conversation/\d/content"),
    "anthropic list": ("anthropic", ANTHROPIC, 3, r"/\d/content(/1/text)?"),
    "anthropic request": ("anthropic", {"system": THANKS, "messages": OPENAI[5:]}, 1, r"/messages/0/content"),
    "anthropic batch request": (
        "anthropic",
        {"custom_id": "a", "params": {"system": [{"type": "text", "text": THANKS}], "messages": ANTHROPIC}},
        3,
        r"/params/messages/\d/content(/1/text)?",
    ),
    "anthropic batch result": (
        "anthropic",
        {"custom_id": "a", "result": {"type": "succeeded", "message": {"id": "m", "type": "message", **ANTHROPIC[1]}}},
        1,
        r"/result/message/content/1/text",
    ),
    "responses request": (
        "responses",
        {"model": "m", "instructions": THANKS, "input": RESPONSES, "tools": []},
        6,
        r"/input/\d/content.*",
    ),
    "responses string": ("responses", {"model": "m", "input": THANKS}, 1, r"/input"),
    "responses batch": (
        "responses",
        {"custom_id": "a", "url": "/v1/responses", "body": {"model": "m", "input": THANKS}},
        1,
        r"/body/input",
    ),
    "responses list": ("responses", RESPONSES, 6, r"/\d/content.*"),
    "responses output": (
        "responses",
        {"id": "resp", "object": "response", "output": [RESPONSES[1], {"type": "message", "id": "m", **RESPONSES[4]}]},
        2,
        r"/output/1/content/0/text",
    ),
    "sharegpt": (
        "sharegpt",
        {"id": "x_0", "conversations": [{"from": "human", "value": THANKS}, {"from": "gpt", "value": ANSWER}]},
        2,
        r"/conversations/\d/value",
    ),
    "sharegpt list": ("sharegpt", [{"from": "human", "value": ASK}, {"from": "gpt", "value": ANSWER}], 2, r"/\d/value"),
    "speakers": (
        "speakers",
        {"id": 1.0, "turns": [{"speaker": "Ulla", "text": ANSWER}, {"role": "speaker", "speaker": "Per", "text": THANKS}]},
        2,
        r"/turns/\d/text",
    ),
    "langchain constructors": (
        "langchain",
        [
            constructor("SystemMessage", content="Speak plainly.", type="system"),
            constructor("HumanMessage", content=ASK, type="human", additional_kwargs={"lane": "b"}),
            constructor("AIMessageChunk", content=[ANSWER, {"type": "text", "text": THANKS}], tool_calls=[]),
            constructor("ToolMessage", content=THANKS, tool_call_id="tc", status="success"),
            constructor("ChatMessage", content=THANKS, role="user"),
        ],
        5,
        r"/\d/kwargs/content(/\d(/text)?)?",
    ),
    "langchain data": (
        "langchain",
        {"messages": [{"type": "human", "data": {"content": THANKS, "type": "human"}}, {"type": "ai", "data": {"content": ANSWER}}]},
        2,
        r"/messages/\d/data/content",
    ),
    "langchain flat": (
        "langchain",
        [{"content": THANKS, "additional_kwargs": {}, "type": "human", "id": "h"}, {"type": "ai", "content": ANSWER}],
        2,
        r"/\d/content",
    ),
    "langchain prompt": (
        "langchain",
        {"lc": 1, "type": "constructor", "id": ["x", "ChatPromptValue"], "kwargs": {"messages": [constructor("HumanMessage", content=THANKS)]}},
        1,
        r"/kwargs/messages/0/kwargs/content",
    ),
    "langchain batches": (
        "langchain",
        {"messages": [[constructor("HumanMessage", content=THANKS)], []]},
        1,
        r"/messages/0/0/kwargs/content",
    ),
    "agent": (
        "agent",
        [
            {"type": "summary", "summary": THANKS, "leafUuid": "u-3"},
            {"type": "user", "uuid": "u-1", "message": {"role": "user", "content": THANKS}},
            {"type": "user", "uuid": "s-1", "isSidechain": True, "message": {"role": "user", "content": THANKS}},
            {"type": "assistant", "uuid": "u-2", "message": {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}},
            {"type": "system", "subtype": "compact_boundary", "uuid": "c-1", "content": THANKS},
            {"type": "user", "uuid": "u-1", "message": {"role": "user", "content": THANKS}},
            {"type": "user", "uuid": "u-4", "message": {"role": "user", "content": THANKS}},
        ],
        3,
        r"/[136]/message/content(/0/text)?",
    ),
    "agent payload": (
        "agent",
        [
            {"timestamp": "t", "type": "session_meta", "payload": {"id": "x", "instructions": THANKS}},
            {"timestamp": "t", "type": "response_item", "payload": RESPONSES[0]},
            {"timestamp": "t", "type": "response_item", "payload": RESPONSES[2]},
            {"timestamp": "t", "type": "response_item", "payload": RESPONSES[3]},
            {"timestamp": "t", "type": "response_item", "payload": {"type": "message", **RESPONSES[4]}},
            {"timestamp": "t", "type": "event_msg", "payload": {"type": "agent_message", "message": ANSWER}},
        ],
        4,
        r"/[14]/payload/content/0/text",
    ),
    "telemetry": (
        "telemetry",
        {
            "trace_id": "4b",
            "span_id": "a1",
            "attributes": {
                "gen_ai.system_instructions": [{"type": "text", "content": THANKS}],
                "gen_ai.input.messages": TELEMETRY_IN,
                "gen_ai.output.messages": TELEMETRY_OUT,
                "gen_ai.usage.input_tokens": 91,
            },
        },
        4,
        r"/attributes/gen_ai\.\w+\.messages/\d/parts/\d/content",
    ),
    "telemetry without messages": ("telemetry", {"span_id": "a2", "attributes": {"gen_ai.tool.call.id": "e1"}}, 0, "(?!)"),
    "slack": (
        "slack",
        [
            slack("U1", "<@U2> has joined the channel, which is really lovely", "1700000000.000100", subtype="channel_join"),
            slack("U1", f"<@U2>'s plan: {ANSWER} See <https://x.example/a?b=1|the really nice page>, R&amp;D said &lt;3.", "1700000001.000200",
                  thread_ts="1700000001.000200", user_profile={"display_name": "", "real_name": "Ulla Berg"}),
            slack("U2", THANKS, "1700000002.000300", blocks=[{"type": "rich_text", "text": THANKS}]),
            {"type": "message", "subtype": "bot_message", "username": "Ledger", "text": THANKS, "ts": "1700000003.000400"},
            {"type": "message", "user": "U1", "files": [{"id": "F1"}], "ts": "1700000004.000500"},
        ],
        5,
        r"/[123]/text",
    ),
    "slack api": ("slack", {"ok": True, "messages": [slack("U1", THANKS, "1700000000.0001")]}, 1, r"/messages/0/text"),
    "discord": (
        "discord",
        {
            "guild": {"id": "1", "name": "Holm"},
            "messages": [
                {"id": "1", "type": "GuildMemberJoin", "content": "Joined the server.", "author": {"id": "7", "name": "per", "nickname": "Per"}},
                {"id": "2", "type": "Default", "content": f"<:wave:123> {THANKS}", "author": {"id": "7", "name": "per", "nickname": "Per", "isBot": False}},
                {"id": "3", "type": "Reply", "content": ANSWER, "author": {"id": "8", "name": "ledger", "isBot": True}, "reference": {"messageId": "2"}},
            ],
            "messageCount": 3,
        },
        3,
        r"/messages/[12]/content",
    ),
    "telegram": (
        "telegram",
        {
            "name": "Tasting",
            "type": "private_group",
            "id": 1,
            "messages": [
                {"id": 1, "type": "service", "date": "2026-05-01", "actor": "Ulla", "action": "pin_message", "text": ""},
                {"id": 2, "type": "message", "date": "2026-05-01", "from": "Ulla", "from_id": "user1", "text": THANKS,
                 "text_entities": [{"type": "plain", "text": THANKS}]},
                {"id": 3, "type": "message", "date": "2026-05-01", "from": None, "from_id": "user2",
                 "text": ["So, well, ", {"type": "mention", "text": "@ulla"}, ", you know, ", {"type": "bold", "text": "thank you so much"},
                          "! I mean, ", {"type": "link", "text": "https://x.example"}]},
            ],
        },
        3,
        r"/messages/(1/text|2/text/(0|2|4|3/text))",
    ),
    "telegram account": (
        "telegram",
        {"chats": {"list": [{"messages": [{"type": "message", "from": "Ulla", "text": THANKS}]}, {"messages": []}]}},
        1,
        r"/chats/list/0/messages/0/text",
    ),
}  # fmt: skip
