"""Random turns and transcripts: natural words of both languages between everything that breaks tokenizers."""

from hypothesis import strategies as st

from compressor import Transcript, Turn

WORDS = (
    "the", "a", "um", "okay", "Okay,", "yes", "no", "not", "don't", "can", "must", "refund", "deliver", "signed", "Graz",
    "Ms.", "Dr.", "Prideaux", "e.g.", "etc.", "p.m.", "3.5", "-5", "200 °C", "v2.1.01", "14", "June", "unless", "only",
    "because", "(yes)", "(f(x)", '"keep off"', "'tis", "’24", "‘no’", "boys'", "foo(bar)", "user@host", "'s", "n't", "and/or", "C++",
    "__init__", "**bold**", "*a", "`x y`", "...", "…", "—", "-", "–", "+", "=", "|", ":)", "->", "$5", "5%", "#tag", "@me",
    "https://x.example/a?b=1", "/usr/bin", "x—y", "No.", "no.", "I", "end.", "what?", "so,", "well;", "then:", "!", "?!",
    "café", "Nguyễn", "🏳️‍🌈", "8️⃣", "👍🏽", "\u200fשלום", "\u2066a@b.c\u2069", "\u2067אב", "مرحبا؟", "\x00", "\u200b", "\ufeff", "\ud800",
    "不太可能", "没有付款", "好的，", "谢谢您！", "如果超过200元就先别买", "《合同法》", "“转让”", "用Python写Java", "G7031次（早）", "第3章5节",
    "嗯嗯，", "就是说", "。", "？", "：", "飲まないで", "カロナール", "ไม่ใช่", "한국어", "½", "①", "ﬁ",
)  # fmt: skip
GAPS = (
    " ",
    " ",
    " ",
    " ",
    "",
    "",
    "  ",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "\u3000",
    "\n- ",
    "\n1. ",
    "\n# ",
    "\n    ",
    "\n> ",
    "\n| ",
    "```\n",
    "\u2028",
)

pieces = st.one_of(st.sampled_from(WORDS), st.sampled_from(WORDS), st.text(max_size=4))


soups = st.lists(
    st.sampled_from([*"À好吧的\u0e5c  -—–…,.!?;:~*/'\"()。，·•_#&|\n1", "ab", "um", "x", "..."]), min_size=2, max_size=9
).map("".join)
"""Marks of both scripts between words of both, mostly without spaces: where a deletion could fuse two words."""


@st.composite
def texts(draw: st.DrawFn, max_words: int = 24) -> str:
    """A text of random words with random gaps between them."""
    words = draw(st.lists(pieces, max_size=max_words))
    return "".join(part for word in words for part in (word, draw(st.sampled_from(GAPS))))


roles = st.sampled_from(["user", "assistant", "system", "tool", "speaker", "none", "narrator"])
turns = st.builds(
    Turn, role=roles, speaker=st.one_of(st.none(), st.sampled_from(["Ann", "王薇", "PhD G"])), text=texts()
)
transcripts = st.builds(Transcript, st.lists(turns, max_size=4))
