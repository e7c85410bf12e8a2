"""Random error messages about credentials, in English and Japanese, that hold no secret.

Services talk about passwords, tokens and keys all the time: in sentences, in JSON under the very names of credentials,
in HTML forms, in settings to copy. A recording keeps such answers as they are. Each message is drawn from word lists
and templates with a seed, so that a failure can be repeated.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

# Names of fields, parameters and headers that carry credentials in requests.
FIELDS = (
    "password token api_key apiKey access_token refresh_token client_secret secret pin otp passcode session session_id "
    "passphrase new_password confirm_password current_password id_token jwt signature csrf_token auth_token key "
    "security_code two_factor_code private_key X-Api-Key Authorization apikey sessionToken secretKey credentials auth "
    "cookie sid pwd user_password accessKey webhook_secret recovery_code passwordConfirmation"
).split()
CODES = (
    "invalid_token token_expired invalid_grant invalid_client INVALID_PASSWORD password_too_short unauthorized "
    "missing_api_key ApiKeyNotFound session_expired otp_required TWO_FACTOR_REQUIRED rate_limit_exceeded blank "
    "AuthenticationFailed ExpiredToken SignatureDoesNotMatch InvalidAccessKeyId TokenRefreshRequired invalid_api_key "
    "auth/wrong-password auth/invalid-credential wrong_pin_code credential_mismatch ERR_JWT_EXPIRED E11000 AADSTS50126 "
    "csrf_token_mismatch insufficient_scope PASSWORD_RESET_REQUIRED key_revoked secret_rotation_due MissingAuthToken"
).split()
STATES = (
    "required missing invalid expired revoked blank too_short too_long string null wrong mismatch none disabled locked "
    "unknown forbidden optional weak unsupported malformed accepted enabled rotated hidden set unset"
).split()
TYPES = "string integer boolean object array uuid base64 number null text hex JWT bearer".split()
PATHS = (
    "/v1/oauth2/token /v2/accounts /login /auth/session /api/v3/keys /users/me/password /sessions/new /account/tokens "
    "/oauth/authorize /settings/api-keys /two-factor /password/reset /.well-known/jwks.json /secrets/rotate /signin"
).split()
DUMMIES = (
    "YOUR_API_KEY your-token-here <token> <your_password> ******** xxxxxxxx changeme $API_KEY ${ACCESS_TOKEN} "
    "{{api_key}} %s null undefined [REDACTED] REDACTED **** sk-... INSERT_KEY_HERE process.env.TOKEN example "
    "<ACCESS_TOKEN> dein-schluessel MEIN_TOKEN あなたのAPIキー password123 test"
).split()
USERS = "alice bob m.mueller tanaka admin root postgres guest deploy svc-backup 佐藤 jürgen".split()

ENGLISH = {
    "thing": "password|token|access token|API key|secret key|session|session cookie|two-factor code|one-time password|"
    "refresh token|client secret|PIN|signature|credential|passphrase|verification code|sign-in link|private key",
    "state": "invalid|expired|missing|required|too short|not recognized|malformed|revoked|blocked|no longer valid|weak|"
    "incorrect|unknown|disabled|already used|not allowed here|out of date",
    "advice": "Please sign in again.|Generate a new one in your settings.|Contact your administrator.|Try again later.|"
    "See the documentation for details.|Check your credentials and retry.|Renew it before the next call.|"
    "Did you forget the prefix?|Rotate the key, then retry.|Ask the owner for access.",
    "sentence": "Invalid {thing}: must be a {type}|The {thing} is {state}|"
    "{Thing} {state}|Your {thing} is {state}. {advice}|"
    "No {thing} provided|{Thing} must be at least {number} characters long|Missing {thing} in parameter '{field}'|"
    "The parameter {field} is {state}|Field '{field}' expects {type}, got {other_type}|{field}: {state}|"
    "Authentication failed for user '{user}' (using password: YES)|{Thing} authentication failed for user \"{user}\"|"
    "Too many sign-in attempts; wait {number} seconds|Rate limit of {number} calls per {thing} exceeded on {path}|"
    "Could not verify the {thing} for {path}. {advice}|We could not log you in: {thing} {state}|"
    "Set {field}={dummy} in your environment. {advice}|Use {path}?{field}={dummy} to authenticate|"
    "Expected header Authorization: Bearer {dummy}|{code}: the {thing} was {state}|{Thing} and {thing} do not match|"
    "The {thing} for {user} expires in {number} days. {advice}|Unexpected token '<' in JSON at position {number}|"
    'Use export {field}="{dummy}" and call {path}|token={state}, session={state}|password: {state}|'
    "Bearer token {state}|Basic authentication is {state} for {path}|{Thing} contains invalid characters. {advice}",
}
JAPANESE = {
    "thing": "パスワード|トークン|アクセストークン|APIキー|シークレットキー|セッション|クッキー|認証コード|暗証番号|"
    "ワンタイムパスワード|署名|秘密鍵|資格情報|リフレッシュトークン|二段階認証コード",
    "state": "無効です|期限切れです|必要です|短すぎます|正しくありません|"
    "ロックされています|失効しました|未設定です|不明です|"
    "使用済みです|一致しません|許可されていません",
    "advice": "もう一度ログインしてください。|設定画面で再発行してください。|管理者に連絡してください。|"
    "しばらくしてから再試行してください。|詳細はドキュメントを参照してください。",
    "sentence": "パスワードが必要です|{thing}が{state}|{thing}は{state}。{advice}|{thing}が指定されていません|"
    "{thing}は{number}文字以上で入力してください|パラメータ「{field}」に{thing}がありません|{field}: {state}|"
    "ユーザー「{user}」の認証に失敗しました({thing}が{state})|"
    "ログイン試行が多すぎます。{number}秒後に再試行してください|"
    "{path} の{thing}あたりの上限({number}回)を超えました|"
    "{thing}と{thing}が{state}|{field}は{type}型でなければなりません|"
    "{field}={dummy} を設定してください。{advice}|"
    "ヘッダー Authorization: Bearer {dummy} が必要です|{code}:{thing}が{state}|"
    "{path}?{field}={dummy} を呼び出してください|"
    "{thing}はあと{number}日で期限が切れます|トークン={state}|パスワード:{state}",
}
LANGUAGES = {"en": ENGLISH, "ja": JAPANESE}


@dataclass(frozen=True)
class Message:
    """An error answer without a secret."""

    body: bytes
    content_type: str
    headers: dict[str, str] = field(default_factory=dict)


def sentence(random: Random, language: str) -> str:
    """Return a random sentence about credentials."""
    words = {name: texts.split("|") for name, texts in LANGUAGES[language].items()}
    thing = random.choice(words["thing"])
    return random.choice(words["sentence"]).format(
        thing=thing,
        Thing=thing[0].upper() + thing[1:],
        state=random.choice(words["state"]),
        advice=random.choice(words["advice"]),
        field=random.choice(FIELDS),
        code=random.choice(CODES),
        type=random.choice(TYPES),
        other_type=random.choice(TYPES),
        number=random.choice([4, 6, 8, 12, 30, 60, 90, 100, 128, 500, 1000, 3600]),
        path=random.choice(PATHS),
        user=random.choice(USERS),
        dummy=random.choice(DUMMIES),
    )


def json_error(random: Random, language: str) -> Any:
    """Return a random JSON error, in one of the shapes that frameworks send."""
    text, name, code = sentence(random, language), random.choice(FIELDS), random.choice(CODES)
    state, path = random.choice(STATES), random.choice(PATHS)
    request_id = f"{random.getrandbits(128):032x}"
    names = random.sample(FIELDS, random.randint(1, 5))
    shapes: list[Any] = [
        {"message": text, "code": code},
        {"error": code, "error_description": text},
        {"errors": {name: state}},
        {"errors": {each: [sentence(random, language)] for each in names}},
        {each: random.choice(STATES) for each in names},
        {each: [sentence(random, language)] for each in names},
        {"errors": [{"field": name, "message": text, "code": code}], "request_id": request_id},
        {"detail": [{"loc": ["body", name], "msg": text, "type": "value_error.missing"}]},
        {"error": {"message": text, "type": "invalid_request_error", "param": name, "code": code}},
        {"errors": [{"message": text, "path": ["login", name], "extensions": {"code": code}}], "data": None},
        {"success": False, "error": text, "timestamp": 1_700_000_000 + random.randrange(10**8), "path": path},
        {"schema": {name: {"type": random.choice(TYPES), "required": True, "minLength": 8, "description": text}}},
        {"parameters": {each: random.choice(TYPES) for each in names}, "message": text},
        {"example": {each: random.choice(DUMMIES) for each in names}, "message": text},
        {"status": 401, "reason": code, "fields": names, "trace_id": request_id, name: text},
        {"type": f"https://errors.example{path}", "title": text, "status": 403, "detail": text, "instance": path},
        {"fault": {"faultstring": text, "detail": {"errorcode": f"keymanagement.service.{code}"}}},
        {name: {"code": code, "message": text}, "next": path, "locale": language},
    ]
    return random.choice(shapes)


def settings(random: Random) -> str:
    """Return lines of settings to copy, with dummies for values."""
    separator = random.choice(["=", ": ", " = ", ":"])
    return "\n".join(f"{name}{separator}{random.choice(DUMMIES + STATES)}" for name in random.sample(FIELDS, 3)) + "\n"


def page(random: Random, language: str) -> str:
    """Return an HTML error page, with a form to sign in."""
    name, text = random.choice(FIELDS), html.escape(sentence(random, language))
    hint, label = html.escape(sentence(random, language)), html.escape(sentence(random, language))
    return (
        f"<!doctype html><html lang={language}><head><title>401 {text}</title></head><body><h1>{text}</h1>"
        f'<form action="{random.choice(PATHS)}" method="post"><label for="{name}">{label}</label>'
        f'<input type="password" id="{name}" name="{name}" placeholder="{hint}" required autocomplete="off">'
        f"<button>{html.escape(random.choice(STATES))}</button></form><code>{html.escape(settings(random))}</code></body></html>"
    )


def message(random: Random) -> Message:
    """Return a random error answer in a random language and form."""
    language = random.choice(list(LANGUAGES))
    text = sentence(random, language)
    form = random.choices(["json", "problem", "text", "settings", "html", "xml", "header"], [10, 1, 3, 1, 2, 1, 1])[0]
    if form in {"json", "problem"}:
        body = json.dumps(
            json_error(random, language), ensure_ascii=random.random() < 0.3, indent=random.choice([None, None, 2])
        )
        return Message(body.encode(), "application/problem+json" if form == "problem" else "application/json")
    if form == "text":
        return Message(text.encode(), "text/plain; charset=utf-8")
    if form == "settings":
        return Message(f"{text}\n\n{settings(random)}".encode(), "text/plain; charset=utf-8")
    if form == "html":
        return Message(page(random, language).encode(), "text/html; charset=utf-8")
    code = random.choice(CODES)
    if form == "xml":
        name = random.choice(["Token", "Password", "ApiKey", "Field", "Session"])
        parts = f"<Code>{code}</Code><Message>{html.escape(text)}</Message><{name}>{random.choice(STATES)}</{name}>"
        return Message(f"<?xml version='1.0' encoding='UTF-8'?><Error>{parts}</Error>".encode(), "application/xml")
    description = sentence(random, "en").replace('"', "'").encode("ascii", "ignore").decode()
    challenge = f'Bearer realm="{random.choice(PATHS)}", error="{code}", error_description="{description}"'
    return Message(json.dumps({"message": text}).encode(), "application/json", {"WWW-Authenticate": challenge})
