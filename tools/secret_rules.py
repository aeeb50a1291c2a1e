"""The forms of credentials, as their makers document them: what tools/secrets.py looks for, as data."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_BOUNDED: Final = "bounded"
_CONSUMED: Final = "consumed: an open end takes all that follows of its characters"


@dataclass(frozen=True, slots=True)
class Rule:
    """One form. If the pattern has a group, that group is the secret; otherwise all of the match is."""

    id: str
    anchors: tuple[str, ...]
    """Each match begins with one of these (in lower case if `folds`), or holds one if not `leads`."""
    pattern: re.Pattern[str]
    source: str
    """Where the form is documented."""
    linear: str
    """Why it takes linear time (header of tools/secrets.py)."""
    joins: bool = True
    """It may be cut by a line break: a token of one kind of characters."""
    folds: bool = False
    leads: bool = True
    admits: Callable[[str], bool] | None = None
    """A last look at the secret: whether it can be one at all."""

    in_a_word: bool = True
    """Each match lies in one word of at least `word_characters_min` characters."""

    @property
    def is_sought_in_base64(self) -> bool:
        """Anchors of two characters occur everywhere in what base64 makes of pictures."""
        return min(map(len, self.anchors)) > 2


word_characters_min: Final = 15


def _is_no_placeholder(token: str) -> bool:
    """Real tokens are drawn by chance; `xxxxxxxx`, `...` and `0000` are not."""
    return len(set(token[-24:])) >= 8


def _is_drawn(value: str) -> bool:
    """Whether a value behind `password=` looks like drawn or chosen letters and digits rather than a name in code."""
    if sum(map(str.isdigit, value)) < 2 or not any(map(str.isalpha, value)):
        return False
    return len(set(value)) >= 8 and len(_CHANGES.findall(value)) >= 0.3 * (len(value) - 1)


_CHANGES: Final = re.compile(
    "(?<=[0-9])(?=[^0-9])|(?<=[A-Z])(?=[^A-Z])|(?<=[a-z])(?=[^a-z])|(?<=[^0-9A-Za-z])(?=[0-9A-Za-z])"
)
_PLACEHOLDERS: Final = re.compile(
    r"(?i)[\W_x]*\Z|[$%{<\[]|.*(?:password|passwd|pass|pwd|secret|token|example|placeholder|redacted|changeme)\Z"
)


def _is_a_login(login: str) -> bool:
    """`user:password` of an address, unless the password is one of those that documents put there."""
    return _PLACEHOLDERS.match(login.rpartition(":")[2]) is None


def _rule(id: str, anchors: str, pattern: str, source: str, linear: str = _CONSUMED, *, leads: bool = True) -> Rule:
    """A token with a prefix of its own, which does not go on from a letter or digit before it."""
    whole = re.compile(rf"(?<![0-9A-Za-z])(?:{pattern})")
    return Rule(id, tuple(anchors.split()), whole, source, linear, leads=leads, admits=_is_no_placeholder)


OWN_RULES: Final[tuple[Rule, ...]] = (
    _rule(
        "nexus-token",
        "nx_",
        r"nx_[0-9A-Za-z-]{1,64}_[0-9A-Za-z_-]{20,}",
        "common 2.1: nx_<agentId>_<secret>, the secret 43 characters of base64url",
    ),
    _rule(
        "nexus-login-code",
        "nxl_",
        r"nxl_[0-9A-Za-z_-]{16,}",
        "security 2.8: the console's login codes are nxl_<secret>, the secret at least 22 characters of base64url",
    ),
)
"""NEXUS's own, which also no log and no name may hold (security 2.9)."""

RULES: Final[tuple[Rule, ...]] = (
    *OWN_RULES,
    _rule(
        "aws-key",
        "AKIA ASIA ABIA ACCA",
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![0-9A-Za-z])",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html",
        _BOUNDED,
    ),
    _rule(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"gh[pousr]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{22,}",
        "https://docs.github.com/authentication/keeping-your-account-and-data-secure/about-authentication-to-github",
    ),
    _rule(
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glft- glimt- glsoat- glcbt- gloas- glagent-",
        r"gl(?:pat|dt|rt|ptt|ft|imt|soat|cbt|oas|agent)-[0-9A-Za-z_-]{20,}",
        "https://docs.gitlab.com/security/tokens/#token-prefixes",
    ),
    _rule(
        "slack-token",
        "xox xapp-",
        r"xox[abceoprs]-[0-9A-Za-z-]{20,}|xapp-[0-9]-[0-9A-Za-z-]{20,}",
        "https://docs.slack.dev/authentication/tokens",
    ),
    _rule(
        "slack-token",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[0-9A-Za-z/]{30,}",
        "https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks",
    ),
    _rule(
        "stripe-key",
        "sk_live_ rk_live_ sk_test_ rk_test_ whsec_",
        r"[sr]k_(?:live|test)_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z+/]{32,}",
        "https://docs.stripe.com/keys",
    ),
    _rule(
        "anthropic-key", "sk-ant-", r"sk-ant-[0-9A-Za-z_-]{24,}", "https://docs.anthropic.com/en/api/admin-api/apikeys"
    ),
    _rule(
        "openai-key",
        "sk-",
        r"sk-(?:(?:proj|svcacct|admin)-[0-9A-Za-z_-]{24,}|[0-9A-Za-z]{32,})",
        "https://platform.openai.com/docs/api-reference/authentication",
    ),
    _rule(
        "google-key",
        "AIza GOCSPX-",
        r"AIza[0-9A-Za-z_-]{35}|GOCSPX-[0-9A-Za-z_-]{28}",
        "https://cloud.google.com/docs/authentication/api-keys",
    ),
    _rule(
        "google-key", "ya29.", r"ya29\.[0-9A-Za-z_-]{24,}", "https://cloud.google.com/docs/authentication/token-types"
    ),
    _rule("npm-token", "npm_", r"npm_[0-9A-Za-z]{36}", "https://docs.npmjs.com/about-access-tokens"),
    _rule(
        "pypi-token",
        "pypi-AgE",
        r"pypi-AgE[0-9A-Za-z_-]{50,}",
        "https://docs.github.com/code-security/secret-scanning/introduction/supported-secret-scanning-patterns",
    ),
    _rule(
        "hugging-face-token",
        "hf_ api_org_",
        r"(?:hf|api_org)_[0-9A-Za-z]{34,}",
        "https://huggingface.co/docs/hub/security-tokens",
    ),
    _rule(
        "sendgrid-key",
        "SG.",
        r"SG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}",
        "https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys",
        _BOUNDED,
    ),
    _rule("twilio-key", "SK", r"SK[0-9a-f]{32}(?![0-9A-Za-z])", "https://www.twilio.com/docs/iam/api-keys", _BOUNDED),
    _rule(
        "discord-token",
        "discord.com/api/webhooks discordapp.com/api/webhooks",
        r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[0-9A-Za-z_-]{60,}",
        "https://discord.com/developers/docs/resources/webhook",
    ),
    _rule(
        "discord-token",
        "MD MT Mj Mz ND NT Nj Nz OD OT",  # base64 of a number begins so
        r"[MNO][0-9A-Za-z_-]{23,27}+\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,40}",
        "https://discord.com/developers/docs/reference#authentication",
        _BOUNDED,
    ),
    _rule(
        "telegram-token",
        ":AA",
        r"[0-9]{8,10}:AA[0-9A-Za-z_-]{33}(?![0-9A-Za-z_-])",
        "https://core.telegram.org/bots/api#authorizing-your-bot",
        _BOUNDED,
        leads=False,
    ),
    _rule(
        "azure-key",
        "AccountKey= SharedAccessKey= sig=",
        r"(?:AccountKey|SharedAccessKey)=[0-9A-Za-z+/]{43,86}={0,2}|sig=[0-9A-Za-z%+/]{43,}",
        "https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string",
    ),
    _rule(
        "azure-key",
        "Q~",
        r"[0-9A-Za-z_~.-]{3}[0-9]Q~[0-9A-Za-z_~.-]{31,34}",
        "https://learn.microsoft.com/entra/identity-platform/quickstart-register-app",
        _BOUNDED,
        leads=False,
    ),
    _rule(
        "jwt",
        "eyJ",
        r"(?<![_-])eyJ[0-9A-Za-z_-]{12,}+\.eyJ[0-9A-Za-z_-]{12,}+(?:\.[0-9A-Za-z_-]*+)?",
        "https://www.rfc-editor.org/rfc/rfc7519",
        "at run starts: each run is read by the starts at it and at the two runs before it",
    ),
    Rule(
        "private-key",
        ("-----BEGIN",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:[^-]|-(?!----)){64,}+-----END[A-Z0-9 ]{0,60}-----|(?:(?:\s|\\[nr]){0,8}[0-9A-Za-z+/=]{40,}+)++)"
        ),
        "https://www.rfc-editor.org/rfc/rfc7468",
        "consumed: a body ends at the next five dashes, where the next start is at the earliest",
        joins=False,
        in_a_word=False,
        admits=_is_no_placeholder,
    ),
    Rule(
        "url-login",
        ("://",),
        re.compile(r"://([^\s:/?#@\"'<>`]{0,100}:[^\s:/?#@\"'<>`]{4,100})@"),
        "https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1",
        _BOUNDED,
        joins=False,
        admits=_is_a_login,
    ),
    Rule(
        "password",
        (
            *("passw", "passphrase", "pwd", "secret", "api_key", "apikey", "api-key"),
            *("access_key", "access_token", "auth_token"),
        ),
        re.compile(
            r"(?:passw(?:or)?d|passphrase|pwd|secret(?:[_-]?access)?(?:[_-]?key)?|api[_-]?key|access_key"
            r"|(?:access|auth)_token)[\"']?\s{0,3}(?:[:=]|=>|:=)\s{0,3}[\"']?([^\s\"'`,;<>()\[\]{}]{12,200})",
            re.IGNORECASE,
        ),
        "a value that looks drawn, behind a word for secrets",
        _BOUNDED,
        joins=False,
        in_a_word=False,
        folds=True,
        admits=_is_drawn,
    ),
)
"""In the order in which one that two rules find is named. Several rules may share an id."""
