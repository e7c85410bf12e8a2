"""Tables of credential names: words that indicate a credential in any name, and whole names that vendors document.

`vocabulary` reads a name word by word. If a word, in any language, always indicates a credential, add it to `WORDS`.
All whole names are from public API documentation and standards, written as documented; casing and separators do not
matter. If a vendor's name for a credential is not recognized by its words, add it to `HEADERS`, `URL_FIELDS` or
`FIELDS`. Add exceptions to `ORDINARY`. Add ordinary headers with random-looking values to `ORDINARY_HEADERS`.
"""

from __future__ import annotations

from typing import Final

# Words that mean a credential by themselves, with the kind for names whose other words are not more specific.
WORDS: Final = {
    "TOKEN": "token jwt bearer auth oauth",
    "SECRET": "secret",
    "PASSWORD": "password passwd passphrase passcode passwort kennwort contrasena senha motdepasse mdp wachtwoord"
    " salasana heslo pass pwd pw",
    "PIN": "pin",
    "OTP": "otp totp",
    "AUTHORIZATION": "authorization authentication",
    "SESSION_TOKEN": "sid sessid session",
    "COOKIE": "cookie",
    "CREDENTIAL": "credential",
    "ASSERTION": "assertion",
    "CSRF_TOKEN": "csrf xsrf crumb",
    "SIGNATURE": "sig sign signature hmac sas",
    "API_KEY": "key apikey",
}
# Words that can also mean something else: a name in which they are the only hint counts only with a strong value.
DOUBTFUL: Final = frozenset(
    "key code appid xapplication ticket authentication sign sig signature session sid auth oauth cookie hmac"
    " crumb sas pw bearer st sk ak tk sess".split()
)
# Names with these endings count as exact names, whatever their prefix.
EXACT_ENDINGS: Final = tuple(
    (
        "apikey apisecret apitoken accesstoken authtoken refreshtoken clientsecret secretkey secretaccesskey"
        " privatekey sessiontoken password passwd passphrase bearertoken subscriptionkey apisecretkey oauthtoken"
        " privatetoken accesskeyid webhooksecret signingsecret appsecret apikeyid consumersecret masterkey secret"
    ).split()
)
# Kinds by the ending of a name.
ENDINGS: Final = {
    "ACCESS_TOKEN": "accesstoken authtoken bearertoken",
    "REFRESH_TOKEN": "refreshtoken",
    "ID_TOKEN": "idtoken",
    "SESSION_TOKEN": "sessiontoken sessionid sessionkey",
    "SECURITY_TOKEN": "securitytoken",
    "CSRF_TOKEN": "csrftoken xsrftoken verificationtoken",
    "API_SECRET_KEY": "secretkey secretaccesskey apisecret",
    "CLIENT_SECRET": "clientsecret consumersecret",
    "PRIVATE_KEY": "privatekey",
    "API_KEY_ID": "apikeyid accesskeyid",
    "API_KEY": "apikey",
    "CLIENT_ASSERTION": "clientassertion",
}
# A word with one of these endings is split into what precedes the ending and the words of the ending.
COMPOUNDS: Final = (
    "session-id session-key secret-key private-key access-key auth-key app-key license-key master-key public-key"
    " pass-key api-secret apikey token secret password passwd passphrase passcode signature sessid pwd credential"
    " assertion jwt csrf"
)
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
# Before `id`, these do not mean an ordinary identifier.
SECRET_IDS: Final = frozenset("session sid sess".split())
# Names that begin with one of these ask a question or describe a digest; names with limit words are about quotas.
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


# Headers by kind. Under these exact names UUIDs and digests count as well.
HEADERS: Final = {
    "AUTHORIZATION": "Authorization X-Authorization X-Forwarded-Authorization X-Original-Authorization Authentication"
    " X-WSSE",
    "PROXY_AUTHORIZATION": "Proxy-Authorization",
    "DPOP_PROOF": "DPoP",
    "API_KEY_ID": "X-Api-Key-Id",
    "API_SECRET_KEY": "X-Api-Secret X-Api-Secret-Key X-Secret-Key X-Signing-Secret X-Hook-Secret"
    " X-Hasura-Admin-Secret X-Hasura-Access-Key APCA-API-SECRET-KEY X-EBAY-API-CERT-NAME",
    "CLIENT_SECRET": "X-Client-Secret CF-Access-Client-Secret X-IBM-Client-Secret PLAID-SECRET X-Naver-Client-Secret",
    "API_KEY": "X-ApiKey X-Goog-Api-Key Ocp-Apim-Subscription-Key DD-API-KEY DD-APPLICATION-KEY X-RapidAPI-Key"
    " X-Mashape-Key X-CMC_PRO_API_KEY X-MBX-APIKEY X-Algolia-API-Key X-CoinAPI-Key X-Auth-Key X-Auth-User-Service-Key"
    " X-BAPI-API-KEY CB-ACCESS-KEY OK-ACCESS-KEY KC-API-KEY X-GEMINI-APIKEY bfx-apikey X-ELS-APIKey X-Honeycomb-Team"
    " X-Insert-Key X-Query-Key X-License-Key X-Redmine-API-Key X-Master-Key X-Access-Key X-JFrog-Art-Api"
    " X-Parse-REST-API-Key X-Parse-Master-Key Fastly-Key AccessKey X-Typesense-API-Key xi-api-key X-CG-Pro-API-Key"
    " X-CG-Demo-API-Key aeg-sas-key X-Functions-Key X-ZUMO-MASTER X-Yandex-API-Key TRN-Api-Key X-TBA-Auth-Key"
    " X-NCP-APIGW-API-KEY X-Cisco-Meraki-API-Key X-IG-API-KEY X-Ovh-Application X-Ovh-Consumer X-Application"
    " X-AIO-Key X-LC-Key X-CKAN-API-Key X-Figma-API-Key X-Knack-REST-API-Key X-Adyen-Api-Key MerchantKey"
    " X-Merchant-Key Zotero-API-Key X-Cloudmersive-Key X-VTEX-API-AppKey X-PW-Application ApiIntegrationCode"
    " X-Appwrite-Key X-Meili-API-Key",
    "ACCESS_TOKEN": "X-Auth-Token X-Subject-Token X-Access-Token Private-Token X-Vault-Token Job-Token Deploy-Token"
    " X-Shopify-Access-Token X-Shopify-Storefront-Access-Token X-Finnhub-Token X-Cybozu-API-Token X-Plex-Token"
    " X-Figma-Token X-TrackerToken X-Gitlab-Token X-StorageApi-Token X-Postmark-Server-Token X-Postmark-Account-Token"
    " X-Consul-Token X-Nomad-Token X-Rollbar-Access-Token Circle-Token X-Token X-API-Token X-User-Token X-App-Token"
    " X-Secret-Token X-Telegram-Bot-Api-Secret-Token X-Amzn-Oidc-Data X-Amzn-Oidc-Accesstoken"
    " X-aws-ec2-metadata-token X-Goog-Iam-Authorization-Token X-Serverless-Authorization X-MS-TOKEN-AAD-ACCESS-TOKEN"
    " X-ZUMO-AUTH X-Goog-Iap-Jwt-Assertion Cf-Access-Jwt-Assertion Cf-Access-Token X-Authentication-Token"
    " X-MSTR-AuthToken X-Tableau-Auth X-Rundeck-Auth-Token X-Okta-Token X-JWT-Assertion X-VTEX-API-AppToken"
    " X-Emby-Token X-MediaBrowser-Token X-Riot-Token X-Cassandra-Token X-Subscription-Token X-Appwrite-JWT"
    " X-PW-AccessToken X-EBAY-API-IAF-TOKEN developer-token X-ELS-Insttoken X-Goog-Channel-Token verif-hash",
    "REFRESH_TOKEN": "X-Refresh-Token X-MS-TOKEN-AAD-REFRESH-TOKEN",
    "ID_TOKEN": "X-Id-Token X-MS-TOKEN-AAD-ID-TOKEN",
    "SESSION_TOKEN": "X-Session-Token X-SessionID Session-Id X-Parse-Session-Token vmware-api-session-id"
    " X-Transmission-Session-Id X-Metabase-Session X-ArchivesSpace-Session X-Openerp-Session-Id X-TM1-SessionId"
    " X-Chkp-Sid X-Appwrite-Session X-Authentication CST",
    "SECURITY_TOKEN": "X-Obs-Security-Token X-Acs-Security-Token X-SECURITY-TOKEN",
    "CSRF_TOKEN": "X-CSRFToken X-XSRF-Token Jenkins-Crumb X-WP-Nonce",
    "PASSWORD": "X-Password X-Auth-Password X-Passphrase X-Sonar-Passcode KC-API-PASSPHRASE CB-ACCESS-PASSPHRASE"
    " OK-ACCESS-PASSPHRASE X-ClickHouse-Key X-PAYPAL-SECURITY-PASSWORD",
    "SIGNATURE": "Signature X-Signature X-Hub-Signature X-Hub-Signature-256 Stripe-Signature X-Slack-Signature"
    " X-Twilio-Signature CB-ACCESS-SIGN OK-ACCESS-SIGN KC-API-SIGN X-BAPI-SIGN X-Shopify-Hmac-Sha256"
    " X-GEMINI-SIGNATURE X-Line-Signature Svix-Signature Webhook-Signature X-Square-HmacSha256-Signature"
    " Paypal-Transmission-Sig bfx-signature X-Ca-Signature Typeform-Signature X-Zm-Signature Linear-Signature"
    " X-Razorpay-Signature X-Bunq-Client-Signature X-Bunq-Client-Authentication X-Signature-Ed25519"
    " X-Airtable-Content-MAC API-Sign X-Ovh-Signature X-Paystack-Signature X-WC-Webhook-Signature X-LC-Sign"
    " X-Kraken-Sign",
}
# Headers whose names mean something else as fields of documents, or count there only with a strong value.
HEADERS_ONLY: Final = "Session-Id Signature Sign CST Authentication X-Application AccessKey DPoP".split()
# Names in the query of a URL; forms use them too.
URL_FIELDS: Final = {
    "API_KEY": "zws-id skey crtfc_key serviceKey key appid authkey wskey devkey user_key access_key_id AWSAccessKeyId"
    " apitoken sk X-Amz-Credential X-Goog-Credential GoogleAccessId OSSAccessKeyId registration_key ak",
    "ACCESS_TOKEN": "auth tk jwt ticket input_token sas sastoken login_token verify_token tempauth",
    "CODE": "code oobCode",
    "SIGNATURE": "sig sign hmac api_sig st q-signature oauth_signature X-Tos-Signature X-Oss-Signature",
    "SESSION_TOKEN": "pass_ticket wxsid zak sesskey session jsessionid _sid sess",
    "PASSWORD": "pw",
    "OTP": "mfa_code one_time_code verification_code otp_code",
}
# Fields of JSON, XML, settings and forms.
FIELDS: Final = {
    "ACCESS_TOKEN": "access_token auth_token bearer_token subject_token actor_token registration_access_token token"
    " oauth_token user_token app_token api_token bot_token personal_access_token page_access_token"
    " authentication_token accessJwt gitlab_token github_token slack_token service_token installation_token"
    " client_token tokenValue storefrontAccessToken device_token pushToken webhook_token jeton jeton_acces токен 令牌"
    " 访问令牌 トークン 토큰",
    "TOKEN": "registration_token invite_token reset_token confirmation_token upload_token share_token wrapping_token"
    " root_token sas_token verification_token unsubscribe_token recovery_token activation_token password_reset_token"
    " email_token signup_token magic_token deploy_token project_token workspace_token admin_token",
    "REFRESH_TOKEN": "refresh_token refreshJwt",
    "ID_TOKEN": "id_token id_token_hint",
    "SESSION_TOKEN": "session_token session_key sessionSecret",
    "SECURITY_TOKEN": "security_token x_amz_security_token",
    "SIGNATURE": "x_amz_signature x_goog_signature",
    "CSRF_TOKEN": "csrf_token xsrf_token csrfmiddlewaretoken authenticity_token _wpnonce _ajax_nonce"
    " __RequestVerificationToken _csrf",
    "DEVICE_CODE": "device_code",
    "CODE_VERIFIER": "code_verifier",
    "AUTH_REQ_ID": "auth_req_id",
    "CLIENT_SECRET": "client_secret oauth_client_secret",
    "CLIENT_ASSERTION": "client_assertion",
    "ASSERTION": "assertion SAMLResponse SAMLRequest SAMLart wresult g-recaptcha-response h-captcha-response"
    " cf-turnstile-response",
    "PASSWORD": "password passwd passphrase secretText new_password old_password current_password"
    " password_confirmation db_password login_password root_password admin_password secretPassword master_password"
    " passcode plaintext_password passwordConfirm pwd userPassword smtp_password proxy_password dbpass userpass"
    " ftppass mailpass smtppass j_password requirepass masterauth bindpw rootpw mot_de_passe contrasena clave_secreta"
    " palavra_passe parola haslo losenord sifre adgangskode пароль 密码 密碼 口令 パスワード 비밀번호 암호",
    "API_KEY": "apikey subscription_key application_key app_key license_key service_role_key admin_api_key"
    " rest_api_key read_key writeKey serverKey primaryMasterKey primaryReadonlyMasterKey secondaryMasterKey"
    " secondaryReadonlyMasterKey",
    "API_KEY_ID": "api_key_id",
    "API_SECRET_KEY": "api_secret api_secret_key aws_secret_access_key app_secret shared_secret signing_secret"
    " webhook_secret SecretAccessKey consumerSecret secretKey encryption_key signing_key secret_key_base",
    "PRIVATE_KEY": "private_key private_key_pem ssh_private_key rsa_private_key",
    "SECRET": "secret secret_value secretString SecretBinary totp_secret otp_secret account_key storage_account_key"
    " hmac_secret token_secret oauth_token_secret unseal_key stream_key rtmp_key секрет 密钥 密鑰 シークレット",
}
# Fields of JSON that mean a credential only with a strong value.
DOUBTFUL_FIELDS: Final = {
    "ACCESS_TOKEN": "access bearer",
    "REFRESH_TOKEN": "refresh",
    "CODE": "code auth_code authorization_code verification_code activation_code reset_code confirmation_code"
    " login_code invite_code sms_code access_code pairing_code email_code",
    "API_KEY": "primaryKey secondaryKey key1 key2 primary_key secondary_key primary secondary apiKeyValue",
    "SECRET": "connectionString connection_string primaryConnectionString secondaryConnectionString dsn database_url"
    " plaintext psk pre_shared_key snmp_community connection_uri ticket tgt otpauth webhook_url webhookUrl"
    " incoming_webhook_url seed mnemonic seed_phrase recovery_phrase recovery_code recovery_codes backup_code"
    " backup_codes secret_id SecretId keys_base64 unseal_keys unseal_keys_b64 magic_link kubeconfig"
    " otpauth_url primaryConnectionKey sas_url"
    " sasUrl",
    "PRIVATE_KEY": "d pem",
}
# Names of ordinary things that contain a credential word and that no other rule recognizes as ordinary.
ORDINARY: Final = frozenset(
    (
        # requests and caching
        " X-Idempotency-Key Sec-WebSocket-Key X-Surrogate-Key X-Cache-Key Signature-Input Sec-Session-ID"
        " Access-Control-Allow-Credentials X-Client-Session-Id X-Session-Affinity X-Correlation-Token"
        " idempotency_token creation_token lock_token http_tokens"
        # pages
        " token_sync watch_token NextPageToken prevPageToken nextSyncToken pagination_key next_key"
        " last_evaluated_key exclusive_start_key start_key end_key next_marker_key search_after_key since_token"
        # data
        " i18n_key type_key name_key s3_key cover_edition_key ia_key column_key lending_edition_key"
        # public keys
        " public_token_key verify_key verification_key host_key ssh_key ssh_keys deploy_keys gpg_key gpg_keys"
        " pgp_key host_keys recaptcha_site_key authorized_keys"
        # language models, chains, codes
        " token0 token1 token_a token_b base_token quote_token native_token from_token to_token fee_token gas_token"
        " reward_token collateral_token underlying_token pool_token zip_pass pin_code pin_codes post_pass"
        " postal_pin map_pin board_pin"
        # other
        " market_session trading_session pre_session boarding_pass season_pass pass_fail first_pass last_pass"
        " sign_up sign_out zodiac_sign call_sign sig_figs shipping_pin_code star_sign road_sign plus_sign"
        " currency_sign sun_sign vital_sign allow_credentials with_credentials include_credentials"
    ).split()
)
# Headers whose values look random and are not credentials: those of HTTP, and of caches, proxies and tracing.
ORDINARY_HEADERS: Final = frozenset(
    "accept accept-charset accept-datetime accept-encoding accept-language accept-patch accept-ranges age allow alt-svc"
    " baggage cache-control connection cookie cookie2 date dnt early-data etag expect expires forwarded from host"
    " http2-settings idempotency-key last-modified link location max-forwards origin pragma prefer priority range"
    " referer referrer refresh retry-after save-data server set-cookie te tracestate traceparent trailer"
    " transfer-encoding upgrade upgrade-insecure-requests user-agent vary via warning b3 digest want-digest"
    " repr-digest".split()
)
ORDINARY_HEADER_PATTERN: Final = (
    r"(?:accept|access-control|content|if|sec|x-b3|x-forwarded|x-datadog|x-amz-content|x-amz-checksum|x-goog-hash"
    r"|x-ms-client|ot-tracer|uber-trace)-.*"
    r"|.*(?:request|correlation|trace|span|transaction|operation|invocation|idempotency|message|event|delivery|device"
    r"|client|session-?open|checksum|digest|md5|sha1|sha256|version|etag|agent|date)(?:[-_]?(?:id|key|uuid|no))?"
)
