"""Which text is taken for a credential and which is not (common 7.2).

Credentials are put together here, from parts, so that no secret scanner takes this file for one that leaks them.
"""

from __future__ import annotations

import base64
import random
import string
import uuid
from typing import Final

import pytest

from tools.secret_rules import RULES
from tools.secrets import find_secrets, holds_own_token

ALNUM: Final = string.ascii_letters + string.digits
URL_SAFE: Final = ALNUM + "-_"
HEX: Final = "0123456789abcdef"
_chance = random.Random(20270115)


def drawn(characters: str, count: int) -> str:
    return "".join(_chance.choices(characters, k=count))


def pem(kind: str, lines: int = 12) -> str:
    body = "\n".join(drawn(ALNUM + "+/", 64) for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{body}\n{drawn(ALNUM, 20)}==\n-----END {kind}-----"


def jwt() -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(b'{"sub":"1234567890","name":"Ada","iat":1516239022}').decode().rstrip("=")
    return f"{head}.{body}.{drawn(URL_SAFE, 43)}"


def discord_bot() -> str:
    number = base64.b64encode(b"812345678901234567").decode().rstrip("=")
    return f"{number}.{drawn(URL_SAFE, 6)}.{drawn(URL_SAFE, 38)}"


CREDENTIALS: Final[list[tuple[str, str]]] = [
    ("nexus-token", "nx_" + "01hzy3k8w2m5n7p9q1r3s5t7v9_" + drawn(URL_SAFE, 43)),
    ("nexus-token", "nx_" + "guest_" + drawn(URL_SAFE, 43)),
    ("nexus-login-code", "nxl_" + drawn(URL_SAFE, 22)),
    ("aws-key", "AKIA" + drawn("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
    ("aws-key", "ASIA" + drawn("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
    ("github-token", "ghp_" + drawn(ALNUM, 36)),
    ("github-token", "ghs_" + drawn(ALNUM, 36)),
    ("github-token", "github_pat_" + drawn(ALNUM, 22) + "_" + drawn(ALNUM, 59)),
    ("gitlab-token", "glpat-" + drawn(URL_SAFE, 20)),
    ("slack-token", "xoxb-" + drawn(string.digits, 12) + "-" + drawn(string.digits, 12) + "-" + drawn(ALNUM, 24)),
    (
        "slack-token",
        "xapp-1-" + drawn(string.ascii_uppercase, 11) + "-" + drawn(string.digits, 13) + "-" + drawn(HEX, 64),
    ),
    (
        "slack-token",
        "hooks.slack.com/" + "services/T" + drawn(ALNUM, 10) + "/B" + drawn(ALNUM, 10) + "/" + drawn(ALNUM, 24),
    ),
    ("stripe-key", "sk_live_" + drawn(ALNUM, 24)),
    ("stripe-key", "rk_test_" + drawn(ALNUM, 99)),
    ("stripe-key", "whsec_" + drawn(ALNUM, 32)),
    ("openai-key", "sk-" + drawn(ALNUM, 48)),
    ("openai-key", "sk-proj-" + drawn(URL_SAFE, 120)),
    ("anthropic-key", "sk-ant-" + "api03-" + drawn(URL_SAFE, 93) + "AA"),
    ("google-key", "AIza" + drawn(URL_SAFE, 35)),
    ("google-key", "GOCSPX-" + drawn(URL_SAFE, 28)),
    ("google-key", "ya29." + drawn(URL_SAFE, 80)),
    ("npm-token", "npm_" + drawn(ALNUM, 36)),
    ("pypi-token", "pypi-" + "AgE" + drawn(URL_SAFE, 150)),
    ("hugging-face-token", "hf_" + drawn(string.ascii_letters, 34)),
    ("sendgrid-key", "SG." + drawn(URL_SAFE, 22) + "." + drawn(URL_SAFE, 43)),
    ("twilio-key", "SK" + drawn(HEX, 32)),
    ("discord-token", discord_bot()),
    ("discord-token", "discord.com/" + "api/webhooks/812345678901234567/" + drawn(URL_SAFE, 68)),
    ("telegram-token", "8123456789:" + "AA" + drawn(URL_SAFE, 33)),
    ("azure-key", "AccountKey=" + drawn(ALNUM + "+/", 86) + "=="),
    ("azure-key", drawn(ALNUM, 3) + "8Q~" + drawn(ALNUM, 34)),
    ("jwt", jwt()),
    ("private-key", pem("RSA " + "PRIVATE KEY")),
    ("private-key", pem("OPENSSH " + "PRIVATE KEY", 6)),
    ("private-key", pem("PGP " + "PRIVATE KEY BLOCK", 20)),
]
INSIDE: Final[list[tuple[str, str, str]]] = [
    ("url-login", "postgres://app:", drawn(ALNUM, 20)),
    ("url-login", "redis://:", drawn(ALNUM, 32)),
    ("url-login", "https://deploy:", "hunter2hunter2"),
    ("password", "password=", "Tr0ub4dor&3xyz"),
    ("password", "DB_PASSWORD: '", drawn(ALNUM, 24) + "7A9b"),
    ("password", 'client_secret" : "', drawn(URL_SAFE, 40) + "3x4Y"),
    ("password", "aws_secret_access_key = ", drawn(ALNUM + "+/", 38) + "7g"),
    ("password", "İ PWD=", "x7Kp2mQ9vL4t"),
]

HARMLESS: Final[list[str]] = [
    "",
    "Just a note about the garden, with nothing in it.",
    str(uuid.UUID(int=_chance.getrandbits(128))),
    "id: " + str(uuid.UUID(int=_chance.getrandbits(128))).upper(),
    "Merge commit " + drawn(HEX, 40) + " into main",
    "sha256:" + drawn(HEX, 64),
    '<script integrity="sha384-' + base64.b64encode(_chance.randbytes(48)).decode() + '" crossorigin></script>',
    "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + _chance.randbytes(3_000)).decode(),
    "data:image/svg+xml;base64," + base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'/>" * 9).decode(),
    "01HZY3K8W2M5N7P9Q1R3S5T7V9",
    "01hzy3k8w2m5n7p9q1r3s5t7v9 and nx_ alone, or nx_<agentId>_<secret>",
    "OPENAI_API_KEY=sk-...",
    "Use your key: sk-proj-YOUR_KEY_HERE",
    "export TOKEN=YOUR_TOKEN",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "sk-ant-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "AKIAXXXXXXXXXXXXXXXX",
    "password: ****************",
    "password = <your password here>",
    "password=${DB_PASSWORD_FROM_ENV_2}",
    "password = get_password_from_environment()",
    "const apiKey = process.env.API_KEY_FOR_SERVICE;",
    "secret: mySecretManagerClientFactory",
    'if (passwordInput.value !== confirmPassword) { throw new Error("passwords differ"); }',
    "postgres://user:password@localhost:5432/app",
    "postgres://USER:${PASSWORD}@db/app",
    "https://example.org:8443/path?x=1#part",
    "git@github.com:nexus/example.git and ssh://git@host:22/x",
    "The risk-based task-list, the desk-top and the disk-image of 2027-01-15T08:00:00.000Z",
    "Ask-me-anything: sk-short, xoxo-hugs-and-kisses, npm_config_registry, hf_hub_download, SG.1, eyJ",
    "def test_a_very_long_function_name_that_goes_on_and_on_for_a_while(self) -> None:",
    "/usr/lib/python3/dist-packages/some_package/internals/implementation_details.py:1234",
    "lynx_configuration_of_the_browser_window_manager_and_more",
    "-----BEGIN CERTIFICATE-----\n" + "\n".join(drawn(ALNUM, 64) for _ in range(9)) + "\n-----END CERTIFICATE-----",
    "A key begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
    "-----BEGIN PUBLIC KEY-----\n" + drawn(ALNUM, 64) + "\n-----END PUBLIC KEY-----",
    "ssh-ed25519 " + "AAAAC3NzaC1lZDI1NTE5" + "AAAAI" + drawn(ALNUM, 43) + " ada@example",
    "Der Schlüssel liegt unter der Matte; das Passwort: steht im Heft, Größe und Übermaß inbegriffen.",
    "密码：请向管理员索取。这里没有任何秘密，只有一段普通的文字，用来检查没有误报。",
    "パスワードは別途お知らせします。秘密情報は含まれていません。",
    "كلمة المرور: اسأل الشخص المسؤول، لا يوجد سر هنا على الإطلاق.",
    "סיסמה: שאל את האדם האחראי, אין כאן שום סוד",
    "Пароль: спросите у человека, здесь нет никаких секретов, 2027 год.",
    "पासवर्ड: व्यक्ति से पूछें, यहाँ कोई रहस्य नहीं है",
    "👩\u200d💻 wrote: token=🎟️ and the zero\u200bwidth word",
    "| name | value |\n| --- | --- |\n| secret | none |\n| pwd | ~/projects/nexus-2027/site |",
    "\n".join(drawn(HEX, 40) for _ in range(20)),
    "npm i --save-dev @types/node@20.11.5 eslint@8.56.0 && rm -rf node_modules",
    "#1971c2 #2f9e44 rgba(12, 34, 56, 0.78) 0x1F4E9A 1e-12 3.14159265358979",
    '{"type":"rectangle","id":"oDVXy8D6rom3H1-LLH2-f","seed":1968410350,"versionNonce":1278240551}',
]


def test_there_are_enough_of_both() -> None:
    assert len(CREDENTIALS) + len(INSIDE) >= 25
    assert len(HARMLESS) >= 40
    assert {name for name, _ in CREDENTIALS} | {name for name, *_ in INSIDE} == {rule.id for rule in RULES}


@pytest.mark.parametrize(
    ("name", "secret"), CREDENTIALS, ids=[f"{name}-{n}" for n, (name, _) in enumerate(CREDENTIALS)]
)
@pytest.mark.parametrize("around", ["{}", "the key is {}, so use it", "key={}\nnext line", '{{"k": "{}"}}', "a\n{}\nb"])
def test_a_credential_is_found_whole_wherever_it_stands(name: str, secret: str, around: str) -> None:
    """common 7.2"""
    text = around.format(secret)
    start = text.index(secret)
    assert find_secrets(text) == [(name, start, start + len(secret))]


@pytest.mark.parametrize(("name", "before", "secret"), INSIDE)
def test_the_secret_part_of_a_setting_or_address_is_found(name: str, before: str, secret: str) -> None:
    """common 7.2"""
    text = f"see {before}{secret}@db.example/x" if name == "url-login" else f"see {before}{secret}\n"
    [(found, start, end)] = find_secrets(text)
    assert found == name
    assert secret in text[start:end]
    assert end == text.index(secret) + len(secret)


@pytest.mark.parametrize("text", HARMLESS, ids=range(len(HARMLESS)))
def test_harmless_text_passes(text: str) -> None:
    """common 7.2"""
    assert find_secrets(text) == []


TOKENS: Final = [one for one in CREDENTIALS if one[0] not in ("private-key",)]


@pytest.mark.parametrize(("name", "secret"), TOKENS, ids=[f"{name}-{n}" for n, (name, _) in enumerate(TOKENS)])
@pytest.mark.parametrize("hidden", ["\u200b", "\u00ad", "\ufeff", "\u2060\u200d", "\U000e0041"])
def test_invisible_characters_hide_nothing(name: str, secret: str, hidden: str) -> None:
    """common 7.2"""
    broken = hidden.join(secret[at : at + 3] for at in range(0, len(secret), 3))
    text = f"é {broken}{hidden} é"
    assert find_secrets(text) == [(name, 2, 2 + len(broken))]


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\n    ", "\n> ", "\\\n"])
@pytest.mark.parametrize(("name", "secret"), [one for one in TOKENS if len(one[1]) > 30 and "=" not in one[1]])
def test_a_token_cut_by_a_line_break_is_found_whole(name: str, secret: str, line_break: str) -> None:
    """common 7.2"""
    broken = secret[:18] + line_break + secret[18:]
    [(found, start, end)] = find_secrets(f"see {broken} there")
    assert (found, start) == (name, 4)
    assert end >= 4 + len(broken) - 4, "a tail of a few letters may be taken for a word"


def test_the_next_lines_words_are_no_part_of_a_token() -> None:
    secret = "sk-proj-" + drawn(URL_SAFE, 60) + "x9"
    for following in ("Thanks", "and so on", "Next", "(see below)"):
        assert find_secrets(f"key: {secret}\n{following}") == [("openai-key", 5, 5 + len(secret))]


@pytest.mark.parametrize(
    ("name", "secret"), [one for one in CREDENTIALS if one[0] not in ("twilio-key", "discord-token")]
)
def test_what_base64_wraps_is_found(name: str, secret: str) -> None:
    """common 7.2"""
    if name == "azure-key" and "Q~" in secret:
        return
    wrapped = base64.b64encode(f"TOKEN={secret}\n".encode()).decode()
    text = f"apply this: {wrapped} and go"
    [(found, start, end)] = find_secrets(text)
    assert (found, text[start:end].rstrip("=")) == (name, wrapped.rstrip("="))
    lines = "\n".join(wrapped[at : at + 76] for at in range(0, len(wrapped), 76))
    for before in ("data:\n", "here\n", "so it is\n", "see /some/path/"):
        assert [found for found, *_ in find_secrets(f"{before}{lines}\n")] == [name]


def test_a_private_key_without_its_end_is_found_as_far_as_it_goes() -> None:
    whole = pem("PRIVATE " + "KEY")
    begun = whole[: len(whole) // 2]
    [(name, start, end)] = find_secrets(f"here: {begun}")
    assert (name, start) == ("private-key", 6)
    assert end >= 6 + len(begun) - 64
    assert find_secrets(whole.replace("\n", "\\n"))[0][0] == "private-key"


def test_several_in_one_text_are_told_apart_and_overlapping_ones_are_one() -> None:
    one, other = CREDENTIALS[5][1], CREDENTIALS[12][1]
    assert [name for name, *_ in find_secrets(f"{one} {other} {one}")] == ["github-token", "stripe-key", "github-token"]
    assert [name for name, *_ in find_secrets(f"password={one}")] == ["github-token"]


def test_nexus_own_tokens_are_known_among_others() -> None:
    """security 2.9"""
    assert holds_own_token(f"Ada {CREDENTIALS[0][1]}")
    assert holds_own_token(CREDENTIALS[2][1])
    assert not holds_own_token(CREDENTIALS[5][1])
    assert not any(map(holds_own_token, HARMLESS))


def test_every_rule_says_where_its_form_is_documented_and_why_it_is_linear() -> None:
    for rule in RULES:
        assert rule.source and rule.linear.startswith(("bounded", "consumed", "at run starts")), rule.id
        assert rule.anchors
