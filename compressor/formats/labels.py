"""Speaker labels at the head of a line: their shape, and which of them make a text a dialogue."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

CHAT_ROLES = {
    **dict.fromkeys(("user", "human", "用户"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "助手"), "assistant"),
    **dict.fromkeys(("system", "系统"), "system"),
    **dict.fromkeys(("tool", "function"), "tool"),
}
"""Labels, in lower case, that stand for the roles of a chat."""


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\S+", text))


# What stands before a colon at the head of a line without being anyone's name: notes, mail headers, log levels, form
# fields. Collected by hand; speakers called like this are rarer than texts that contain such lines.
_NO_NAMES = _words(
    """
    note notes nb n.b ps p.s pps re fw fwd cc bcc tip tips hint warning warn caution attention important danger
    notice remark remarks todo fixme hack error errors info debug trace fatal critical exception traceback verbose
    log usage example examples e.g i.e eg ie result results output outputs input inputs summary abstract conclusion
    conclusions overview introduction background agenda minutes topic topics subject title author authors date dates
    time times place location venue deadline due duration from to sent received reply-to attachment attachments
    attendees participants present apologies absent name names first last age sex gender city country address street
    phone tel telephone mobile fax email e-mail mail website web url uri link links http https ftp file files path
    source sources reference references see version status state type kind id key value values default price cost
    total subtotal amount quantity qty sum balance tax size weight height width colour color ingredients method
    preparation directions instructions instruction steps step task tasks goal goals aim objective objectives
    requirement requirements problem problems issue issues cause causes reason reasons solution solutions fix
    workaround pros cons advantages disadvantages benefits risks action actions decision decisions next then finally
    also firstly secondly thirdly second third so thus therefore however remember update updated edit edited created
    modified description details figure fig table chart chapter section part appendix contents context license
    licence copyright category tags tag keywords accept connection content-type content-length user-agent
    authorization cookie set-cookie cache-control etag vary accept-encoding accept-language expires
    last-modified message-id mime-version translation transcript recording verse chorus bridge scene act definition
    theorem lemma proof spoiler disclaimer here there this that these those it what why how when where which because
    options option features settings
    注 注意 备注 说明 提示 警告 错误 例如 比如 例 总结 小结 结论 结果 摘要 时间 日期 地点
    地址 主题 标题 姓名 电话 邮箱 作者 来源 原因 问题 解决方案 步骤 目的 目标 任务 议题 议程 参会人员
    与会人员 出席 记录人 附件 要求 关键词 参考 即 如下 其中 首先 其次 最后 另外 总之 所以 因此 但是
    优点 缺点 价格 数量 金额 编号 版本 状态 类型
    """
)
_NUMBERED = re.compile(
    r"(?:step|chapter|section|part|figure|fig\.?|table|appendix|option|example|exercise|question|day|week|page|line|"
    r"item|case|phase|level|unit|lesson|act|scene|note|rule|version|task|test|no\.?)[ _-]?(?:\d[\w.]*|[ivx]+|[a-z])$"
)
_SAYS = re.compile("(?:说|[写问答]道|[询追反提]问|回答|表示|认为|指出|如下|包括|[是为])$")
_PARTICLES = _words("de la van von der den del di da do dos das du le al el bin ibn y e of the and af av zu ter ten")
# No name of several words begins so.
_STARTERS = _words(
    """
    this that these those it he she we they i you there here what why how when where which if so then but and or for in
    on at to as my our your his her its their please
    """
)
_IN_NAMES = frozenset(".-'’ʼ_&/№#()（）·・‐\u200c\u200d\ufe0f@")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")

_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:Z|[ \u00a0\u202f]?[AaPp]\.?[Mm]\b\.?)?"
_DATE = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})"
_TIME = rf"(?:{_DATE}(?:T|,?[ \u00a0\u202f]))?{_CLOCK}(?:[ ]?(?:-->|->|[-–—])[ ]?{_CLOCK})?"
_STAMP = rf"(?:\[{_TIME}\]|\({_TIME}\)|（{_TIME}）|{_TIME})"
_BIDI = "[\u200e\u200f\u202a-\u202e\u2066-\u2069]{0,4}"
_TIMES = re.compile(_TIME)
# Every repetition has a bound, so a line costs the same however long it is.
_LABEL = re.compile(
    rf"""{_BIDI}(?:(?P<stamp>{_STAMP})[ \t\u00a0]{{0,4}}(?:[-–|][ \t]{{1,2}})?)?{_BIDI}
    (?:<[ @+%&~]?(?P<nick>[^\s<>]{{1,32}})>(?=\s|\Z)
    |(?P<event>===|\*{{1,3}}|-!-|-->|<--)(?=[ ])
    |(?P<heading>\#{{1,6}}[ ]{{1,2}})?(?P<bold>\*\*|__)?
     (?P<name>[^\s:：*()（）<>\[\]{{}}"“”|=\\,;!?，。；！？、][^:：*()（）<>\[\]{{}}"“”|=\\,;!?，。；！？、\t\r\n]{{0,48}}+)
     (?P<bracket>[(（\[](?P<inside>(?:[^()（）\[\]*\r\n]|\([^()\r\n]{{0,60}}+\)){{1,100}}+)[)）\]][ ]?)?
     (?(bold)(?:(?P=bold)[ ]?[:：]|[:：](?P=bold)|[:：])|[:：]))""",
    re.VERBOSE,
)
_WINDOW = 240
"""No label ends later on its line."""

Strength = Literal["chat", "name", "nick", "weak", "event"]


@dataclass(frozen=True, slots=True)
class Label:
    """A line's head that may name a speaker.

    Args:
        start: Its first character in the text.
        end: The character after its colon, or after the mark that closes it.
        speaker: The name; None for an event in a chat log.
        strength: How much the name looks like one.
        stamped: Whether a time stands with it.
    """

    start: int
    end: int
    speaker: str | None
    strength: Strength
    stamped: bool

    @property
    def is_small(self) -> bool:
        """Whether the name begins with a small letter."""
        return self.speaker is not None and self.speaker[0].islower()

    @property
    def role(self) -> str:
        """The chat role that the label stands for, `speaker` for a name, `none` for a log event."""
        if self.speaker is None:
            return "none"
        return CHAT_ROLES.get(self.speaker.lower(), "speaker") if self.strength != "nick" else "speaker"


def match_label(text: str, start: int, end: int) -> Label | None:
    """The label at the head of the line `text[start:end]`, if it has the shape of one."""
    near = min(end, start + _WINDOW)
    if text.find(":", start, near) < 0 and text.find("：", start, near) < 0 and text[start] not in "=*-<":
        return None
    found = _LABEL.match(text, start, end)
    if found is None:
        return None
    stamp, nick, event, heading, name, bracket, inside = found.group(
        "stamp", "nick", "event", "heading", "name", "bracket", "inside"
    )
    stop = found.end()
    if nick is not None:  # `<b>` opens a tag, `[10:32] <ann>` a line of a chat log
        return Label(start, stop, nick, "nick", True) if stamp else None
    if event is not None:
        return Label(start, stop, None, "event", stamp is not None)
    name = name.rstrip()
    strength = _strength(name)
    stamped = stamp is not None
    speaker = name
    if inside is not None:
        if _TIMES.fullmatch(inside):
            stamped = True
        elif bracket[0] == "[":
            return None
        else:  # Ann (host):
            speaker = text[found.start("name") : found.end("bracket")].rstrip()
    if strength is None or (heading and strength != "chat"):
        return None
    if strength == "weak" and stamp is not None and stamp[0].isdigit():
        return None  # `2024-05-01 12:00:01 kernel: ...` comes from a machine
    if stop < end and not text[stop].isspace() and text[stop - 1] != "：" and not _UNSPACED.match(speaker[-1]):
        return None
    return Label(start, stop, speaker, strength, stamped)


def choose(labels: Sequence[Label], n_lines: int) -> list[Label]:
    """Those labels that begin a turn, or none of them if the text is no dialogue.

    Decides by the labels and their share of the lines alone: a transcript that lost words, even all words of a turn, is
    read as the same turns again.

    Args:
        labels: What looks like a label, in order; at most one a line.
        n_lines: How many lines are not blank.
    """
    nicks = [label for label in labels if label.strength in ("nick", "event")]
    if sum(label.strength == "nick" for label in nicks) * 2 >= max(n_lines, 4):
        return nicks
    named = [label for label in labels if label.speaker is not None and label.strength != "nick"]
    stamped = [label for label in named if label.stamped]
    if len(stamped) > 1 and len(stamped) * 2 >= len(named):  # `Theo:` inside a message of a stamped log is no turn
        named = stamped
    chat = [label for label in named if label.strength == "chat"]
    roles = {label.role for label in chat}
    if {"user", "assistant"} <= roles and (
        len(chat) > len(roles) or len(chat) >= 0.6 * n_lines or not all(label.is_small for label in chat)
    ):
        return chat  # the answers of an assistant are full of `Result:` and `Step 1:`
    strong = [
        label for label in named if label.strength != "weak" and not (label.strength == "chat" and label.is_small)
    ]
    firm = {label.start for label in strong}
    count = Counter(label.speaker for label in named)
    loose = [label for label in named if label.start in firm or count[label.speaker] > 1]
    if len(loose) > len(strong) and len(loose) * 2 >= len(named):
        loose = named  # nicknames in small letters come back, so one that does not is a speaker too
    if _dense(loose, n_lines):
        return loose
    talk = len({label.role for label in strong if label.strength == "chat"}) > 1  # a system prompt and a question
    return strong if talk or _dense(strong, n_lines) or _sparse(strong, n_lines) else []


def _dense(labels: Sequence[Label], n_lines: int) -> bool:
    """Whether most lines carry a label, and either one comes back or they are few: a list of terms repeats none."""
    speakers = len({label.speaker for label in labels})
    return len(labels) > 1 and len(labels) >= 0.6 * n_lines and (len(labels) > speakers or len(labels) <= 6)


def _sparse(labels: Sequence[Label], n_lines: int) -> bool:
    """Whether labels come back often enough for a transcript of long turns."""
    speakers = len({label.speaker for label in labels})
    return len(labels) > speakers and len(labels) >= (0.1 if speakers > 1 else 0.3) * n_lines


@lru_cache(maxsize=8192)
def _strength(name: str) -> Strength | None:
    """How much a name looks like one: `chat` role, `name`, `weak` (one word in small letters), or None."""
    folded = name.lower()
    if folded in CHAT_ROLES:
        return "chat"
    words = name.split()
    bare = folded.rstrip(".")
    if len(words) > 5 or bare in _NO_NAMES or _NUMBERED.match(folded) or _SAYS.search(name):
        return None
    if not name[0].isalpha():
        return None
    if not all(map(_in_name, name)) or (len(words) == 1 and len(name) > 32):
        return None
    if len(words) > 1 and words[0].lower() in _STARTERS:
        return None
    if len(words) == 2 and words[1].lstrip("#№").isdigit():
        return "name"  # speaker 1
    small = [word for word in words if word.islower() and word not in _PARTICLES]
    if len(words) == 1 and words[0][0].islower():
        return "weak"
    return None if small or words[-1] in _PARTICLES else "name"


def _in_name(char: str) -> bool:
    return (
        char.isalnum()
        or char in _IN_NAMES
        or char == " "
        or unicodedata.category(char) in ("Mn", "Mc", "Me", "So", "Sk", "Zs")
    )
