"""100 more names of credentials, to count what nobody looked at while the vocabulary was written.

Whoever changes the vocabulary should not read this list: `coverage` prints only how many of it are in clear. The tables
are those of `names`.
"""

HEADERS = """
X-StorageApi-Token | {digits:4}-{digits:5}-{alnum:40} | Keboola
icSessionId | {alnum:22} | Informatica
IDS-SESSION-ID | {alnum:22} | Informatica
Gitlab-Workhorse-Api-Request | {jwt} | GitLab
x-tyk-authorization | {alnum:33} | Tyk
Internal-Key | {jwt} | WSO2
X-Snowflake-Session-Token | {b64:60} | Snowflake
X-Trino-Extra-Credential | abc={alnum:32} | Trino
X-Cohere-Api-Key | {alnum:40} | Weaviate
X-Docker-Token | {b64url:40} | Docker
X-Registry-Auth | {b64url:90} | Docker
X-Buildkite-Token | {alnum:36} | Buildkite
X-Authentication | 0{alnum:46} | Puppet
x-vmware-vcloud-access-token | {jwt} | VMware
X-NITRO-PASS | {alnum:18} | Citrix
X-F5-Auth-Token | {upper:26} | F5
X-Domo-Developer-Token | DDCI{alnum:32} | Domo
X-LC-Key | {alnum:24} | LeanCloud
X-LC-Session | {alnum:25} | LeanCloud
X-Bmob-REST-API-Key | {alnum:32} | Bmob
X-DNSimple-Domain-Token | {alnum:33} | DNSimple
X-BillomatApiKey | {alnum:33} | Billomat
Client-Secret | {alnum:20} | Fortnox
X-Amzn-Oidc-Accesstoken | {jwt} | AWS
X-Auth-Apikey | {alnum:45} | Bitso
X-Kount-Api-Key | {jwt} | Kount
Wiley-TDM-Client-Token | {alnum:36} | Wiley
X-CKAN-API-Key | {jwt} | CKAN
Crossref-Plus-API-Token | Bearer {jwt} | Crossref
X-JWT-Assertion | {jwt} | WSO2
X-Amzn-Oidc-Data | {jwt} | AWS
X-Goog-Channel-Token | {alnum:32} | Google
X-Telegram-Bot-Api-Secret-Token | {alnum:48} | Telegram
X-DreamFactory-Session-Token | {jwt} | DreamFactory
X-HA-Access | {alnum:20} | Home Assistant
"""

QUERY = """
hub.secret | {alnum:36} | WebSub
job_token | glcbt-64_{alnum:20} | GitLab
crumb | {alnum:11}.{alnum:12} | Yahoo
X-Emby-Token | {lower:32}{upper:2} | Emby
serviceKey | {b64:64} | Korea's data portal
dataapikey | {alnum:32} | France's data portal
rss_token | {alnum:20} | GitLab
subscriptionToken | {alnum:40} | Pusher
magic_token | {b64url:32} | Stytch
share_token | {alnum:24} | Dropbox
upload_token | {b64url:40} | Vimeo
client_assertion | {jwt} | OAuth 2.0
SAMLResponse | {b64:200} | SAML
sso_token | {b64url:40} | Discourse
auth | {jwt} | Firebase
oauth_verifier | {alnum:32} | OAuth 1.0
accesskey | {alnum:33} | Web3Forms
user_credentials | {alnum:20} | Authlogic
skey | @crypt_{hex:8}_{alnum:32} | WeChat
x-amz-signature | {hex:64} | Amazon S3
"""

JSON = """
master_password | {alnum:24} | GitLab
sas_token | sv=2024-11-04&ss=b&srt=o&sp=r&sig={b64url:33} | Azure
SharedAccessSignature | SharedAccessSignature sr=x&sig={b64url:33}&se=1790000000&skn=root | Azure
WebIdentityToken | {jwt} | AWS
SAMLAssertion | {b64:200} | AWS
ephemeralKeySecret | ek_test_{b64url:60} | Stripe
paymentIntentClientSecret | pi_{alnum:24}_secret_{alnum:25} | Stripe
setupToken | {alnum:36} | Metabase
agentToken | {b64url:40} | Buildkite
deploy_token | gldt-{alnum:20} | GitLab
_password | {b64:24} | npm
registrytoken | {jwt} | Docker
id_jag | {jwt} | OAuth 2.0
logout_token | {jwt} | OpenID Connect
vapidPrivateKey | {b64url:32} | Web Push
recovery_key | {alnum:48} | Matrix
mfaSecret | {upper:32} | many
resetToken | {b64url:32} | many
confirmationToken | {b64url:24} | many
wpa_passphrase | {alnum:20} | Wi-Fi
psk | {alnum:32} | UniFi
ingestionKey | {alnum:33} | LogDNA
accountAuthorizationToken | 4_{alnum:22}_{alnum:8}_{alnum:28} | Backblaze
uploadAuthorizationToken | 4_{alnum:22}_{alnum:8}_{alnum:28} | Backblaze
secretAccessToken | {alnum:45} | X
smtp_password | {alnum:18} | many
DB_PASSWORD | {alnum:20} | Laravel
JWT_SECRET | {alnum:64} | many
AZURE_STORAGE_KEY | {b64:64} | Azure
STRIPE_SECRET_KEY | sk_test_{alnum:24} | Stripe
"""

FORM = """
user_password | {alnum:18} | many
account[current_password] | {alnum:18} | Rails
wpPassword | {alnum:18} | MediaWiki
_csrf_token | {b64url:32} | Symfony
h-captcha-response | P1_{b64url:180} | hCaptcha
otp_token | {upper:16} | many
oauth_verifier | {alnum:32} | OAuth 1.0
wpLoginToken | {hex:40}+ | MediaWiki
api_password | {alnum:24} | SMSAPI
x_trans_key | {alnum:16} | Authorize.Net
"""

COOKIES = """
AUTH_SESSION_ID | {alnum:36} | Keycloak
auth_token | {alnum:40} | X
li_at | AQED{b64url:110} | LinkedIn
xs | {digits:2}%3A{alnum:14}%3A2%3A{digits:10} | Facebook
iPlanetDirectoryPro | {b64url:60}.*AAJTSQACMDE. | ForgeRock
"""

TABLES = {"header": HEADERS, "query": QUERY, "JSON": JSON, "form": FORM, "cookie": COOKIES}
