"""The words in names: those that mean a credential, and those that make a name mean something else.

`vocabulary` reads a name word by word with these tables. A word in any language that always means a credential goes
into `WORDS`; an exception for one whole name goes into `ORDINARY` of `vendor_names`.
"""

from __future__ import annotations

from typing import Final

# Words that mean a credential by themselves, with the kind of a name whose other words do not say more.
WORDS: Final = {
    "token": "TOKEN",
    "secret": "SECRET",
    "password": "PASSWORD",
    "passwd": "PASSWORD",
    "passphrase": "PASSWORD",
    "passcode": "PASSWORD",
    "passwort": "PASSWORD",
    "kennwort": "PASSWORD",
    **dict.fromkeys(("contrasena", "senha", "motdepasse", "mdp", "wachtwoord", "salasana", "heslo"), "PASSWORD"),
    "pass": "PASSWORD",
    "pwd": "PASSWORD",
    "pw": "PASSWORD",
    "pin": "PIN",
    "otp": "OTP",
    "totp": "OTP",
    "jwt": "TOKEN",
    "bearer": "TOKEN",
    "auth": "TOKEN",
    "oauth": "TOKEN",
    "authorization": "AUTHORIZATION",
    "authentication": "AUTHORIZATION",
    "sid": "SESSION_TOKEN",
    "sessid": "SESSION_TOKEN",
    "session": "SESSION_TOKEN",
    "cookie": "COOKIE",
    "credential": "CREDENTIAL",
    "assertion": "ASSERTION",
    "csrf": "CSRF_TOKEN",
    "xsrf": "CSRF_TOKEN",
    "crumb": "CSRF_TOKEN",
    "sig": "SIGNATURE",
    "sign": "SIGNATURE",
    "signature": "SIGNATURE",
    "hmac": "SIGNATURE",
    "key": "API_KEY",
    "apikey": "API_KEY",
    "sas": "SIGNATURE",
}
# Words that also mean something else: a name in which they are the only hint counts with a strong value only.
DOUBTFUL: Final = frozenset(
    "key code appid xapplication ticket authentication sign sig signature session sid auth oauth cookie hmac"
    " crumb sas pw bearer st sk ak tk sess".split()
)
# Names that end like this under any prefix are as good as exact names.
EXACT_ENDINGS: Final = tuple(
    (
        "apikey apisecret apitoken accesstoken authtoken refreshtoken clientsecret secretkey secretaccesskey"
        " privatekey sessiontoken password passwd passphrase bearertoken subscriptionkey apisecretkey oauthtoken"
        " privatetoken accesskeyid webhooksecret signingsecret appsecret apikeyid consumersecret masterkey secret"
    ).split()
)
# The kinds of names that end like this.
ENDINGS: Final = {
    "accesstoken": "ACCESS_TOKEN",
    "authtoken": "ACCESS_TOKEN",
    "bearertoken": "ACCESS_TOKEN",
    "refreshtoken": "REFRESH_TOKEN",
    "idtoken": "ID_TOKEN",
    "sessiontoken": "SESSION_TOKEN",
    "sessionid": "SESSION_TOKEN",
    "sessionkey": "SESSION_TOKEN",
    "securitytoken": "SECURITY_TOKEN",
    "csrftoken": "CSRF_TOKEN",
    "xsrftoken": "CSRF_TOKEN",
    "verificationtoken": "CSRF_TOKEN",
    "secretkey": "API_SECRET_KEY",
    "secretaccesskey": "API_SECRET_KEY",
    "apisecret": "API_SECRET_KEY",
    "clientsecret": "CLIENT_SECRET",
    "consumersecret": "CLIENT_SECRET",
    "privatekey": "PRIVATE_KEY",
    "apikeyid": "API_KEY_ID",
    "accesskeyid": "API_KEY_ID",
    "apikey": "API_KEY",
    "clientassertion": "CLIENT_ASSERTION",
}
# One-word compounds: a word that ends like this is several words.
COMPOUNDS: Final = {
    "sessionid": ("session", "id"),
    "sessionkey": ("session", "key"),
    "secretkey": ("secret", "key"),
    "privatekey": ("private", "key"),
    "accesskey": ("access", "key"),
    "authkey": ("auth", "key"),
    "appkey": ("app", "key"),
    "licensekey": ("license", "key"),
    "masterkey": ("master", "key"),
    "publickey": ("public", "key"),
    "passkey": ("pass", "key"),
    "privkey": ("private", "key"),
    "apikey": ("apikey",),
    "apisecret": ("api", "secret"),
    **{word: (word,) for word in "token secret password passwd passphrase passcode signature sessid pwd".split()},
    **{word: (word,) for word in "credential assertion jwt csrf".split()},
}
# The last word of names of things around a credential: its type, its lifetime, where to get it.
AROUND: Final = frozenset(
    "type types strategy count counts total totals limit limits max min url uri urls uris href link links endpoint"
    " endpoints path name names label title description desc text message messages error errors hint help"
    " status state states expires expiry expiration expired expire exp in at ttl lifetime duration age time"
    " timestamp date created updated issued seconds minutes hours days length size bytes policy policies rule"
    " rules method methods mode scheme schemes style format encoding algorithm alg version versions required"
    " enabled disabled allowed valid validity set changed reset strength score field fields param params"
    " parameter header headers prefix suffix column columns index usage use uses used cost price prices rate"
    " ratio budget per symbol symbols address addresses decimals supply balance balances amount amounts owner"
    " holder holders arn arns scope scopes audience issuer provider providers info information metadata meta"
    " details detail config configuration settings options option source target email mail user users"
    " username client server domain host region service vendor id ids uuid md5 sha1 sha256 fingerprint"
    " thumbprint checksum open close start end begin window level group category kind class role roles"
    " permission permissions flow grant manager store storage factory handler middleware filter ring board"
    " word words pair pairs frame frames number num bits bit curve ops trip through over port ports banner"
    " consent notice flag flags present exists missing needed supported attempts retries failures success"
    " failed available verified page pages view schema template event events log logs request response"
    " location redirect".split()
)
# Before `id`, these do not make an ordinary identifier.
SECRET_IDS: Final = frozenset("session sid sess".split())
# Names that begin like this ask a question, or name what a digest is of; those with words of limits are about an
# allowance.
CONDITIONS: Final = frozenset(
    "has have is are can should require requires needs use uses allow enable disable checksum".split()
)
LIMITS: Final = frozenset("ratelimit limit remaining quota".split())
CURSORS: Final = frozenset(
    "next page prev previous continuation continue cursor sync delta skip paging pagination resume resumption"
    " marker offset iterator scroll start stop max min prompt completion input output total reasoning cached"
    " num top eos bos pad sep cls mask unk image audio thinking special".split()
)
NOT_KEYS: Final = frozenset(
    "public publishable pub foreign sort partition cache object map dict hash range row group issue project"
    " event message idempotency deduplication dedup translation i18n locale surrogate routing exchange redis"
    " storage item parent entity field param resource config setting feature category composite natural"
    " unique unic join lookup metric shard bucket file template work edition index primarykey site arrow"
    " enter function escape tab hot short shortcut musical music signature camelot house car room keyboard"
    " major minor data json xml header query form attribute property label tag dimension i18 lang language"
    " string msg answer question option filter facet agg sorting ordering order by registry instance season"
    " team league player trace span correlation".split()
)
KEYS_IN_WORDS: Final = frozenset(
    "monkey turkey donkey hockey jockey whiskey lackey hotkey latchkey turnkey mickey".split()
)
PLURALS: Final = {
    **{f"{word}s": word for word in ("token", "secret", "password", "key", "cookie", "credential", "signature")},
    "apikeys": "apikey",
    "creds": "credential",
    "cred": "credential",
}
