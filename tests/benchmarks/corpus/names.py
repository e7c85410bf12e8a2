"""434 names of credentials that public documentation gives, each with its place, its service and the value's format.

The tables hold one case a line: name, format, service. A format is made of parts: text as it is, and `kind:size` for a
random part (hex, HEX, lower, upper, alnum, b64 and b64url by bytes, digits, uuid, jwt).

    CASES                  all cases, in a fixed order
    new_value(format, numbers)
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass

HEADERS = """
DD-API-KEY | {hex:32} | Datadog
DD-APPLICATION-KEY | {hex:40} | Datadog
X-Shopify-Access-Token | shpat_{hex:32} | Shopify
Shopify-Storefront-Private-Token | shpat_{hex:32} | Shopify
X-Finnhub-Token | {lower:20} | Finnhub
X-Api-Key | {alnum:40} | Amazon API Gateway
Ocp-Apim-Subscription-Key | {hex:32} | Azure API Management
x-functions-key | {b64url:40} | Azure Functions
aeg-sas-key | {b64:32} | Azure Event Grid
X-MS-TOKEN-AAD-ACCESS-TOKEN | {jwt} | Azure App Service
X-ZUMO-AUTH | {jwt} | Azure App Service
X-Amz-Security-Token | {b64:120} | AWS
x-amz-access-token | Atza|{b64url:90} | Amazon Selling Partner
X-aws-ec2-metadata-token | {b64:39} | Amazon EC2
X-Goog-Api-Key | AIza{b64url:26} | Google
X-Goog-Iam-Authorization-Token | ya29.{b64url:60} | Google
X-Goog-Iap-Jwt-Assertion | {jwt} | Google
X-Firebase-AppCheck | {jwt} | Firebase
X-Auth-Token | gAAAAA{b64url:90} | OpenStack
X-Subject-Token | gAAAAA{b64url:90} | OpenStack
X-Auth-Key | {hex:37} | Cloudflare
X-Auth-User-Service-Key | v1.0-{hex:24}-{hex:146} | Cloudflare
CF-Access-Client-Secret | {hex:64} | Cloudflare
Cf-Access-Jwt-Assertion | {jwt} | Cloudflare
PRIVATE-TOKEN | glpat-{alnum:20} | GitLab
JOB-TOKEN | glcbt-64_{alnum:20} | GitLab
DEPLOY-TOKEN | gldt-{alnum:20} | GitLab
X-Gitlab-Token | {alnum:32} | GitLab
X-Vault-Token | hvs.{alnum:90} | HashiCorp Vault
X-Consul-Token | {uuid} | HashiCorp Consul
X-Nomad-Token | {uuid} | HashiCorp Nomad
X-Postmark-Server-Token | {uuid} | Postmark
X-Algolia-API-Key | {hex:32} | Algolia
X-Typesense-API-Key | {alnum:32} | Typesense
X-Hasura-Admin-Secret | {alnum:64} | Hasura
X-Parse-REST-API-Key | {alnum:40} | Parse
X-Parse-Session-Token | r:{hex:32} | Parse
X-RapidAPI-Key | {alnum:50} | RapidAPI
X-RapidAPI-Proxy-Secret | {uuid} | RapidAPI
X-Honeycomb-Team | {alnum:22} | Honeycomb
X-SF-Token | {alnum:22} | Splunk Observability
X-Insert-Key | NRII-{b64url:24} | New Relic
X-License-Key | {hex:36}NRAL | New Relic
X-Rollbar-Access-Token | {hex:32} | Rollbar
Bugsnag-Api-Key | {hex:32} | Bugsnag
X-Sentry-Auth | Sentry sentry_version=7, sentry_key={hex:32}, sentry_client=raven/1.0 | Sentry
lightstep-access-token | {b64:60} | Lightstep
X-Redmine-API-Key | {hex:40} | Redmine
X-Figma-Token | figd_{b64url:30} | Figma
CB-ACCESS-KEY | {hex:32} | Coinbase
CB-ACCESS-SIGN | {b64:32} | Coinbase
CB-ACCESS-PASSPHRASE | {lower:20} | Coinbase
X-MBX-APIKEY | {alnum:64} | Binance
API-Key | {b64:42} | Kraken
API-Sign | {b64:64} | Kraken
Authent | {b64:64} | Kraken Futures
bfx-apikey | {alnum:43} | Bitfinex
KC-API-KEY | {hex:24} | KuCoin
KC-API-PASSPHRASE | {b64:32} | KuCoin
OK-ACCESS-KEY | {uuid} | OKX
X-BAPI-API-KEY | {alnum:18} | Bybit
ACCESS-KEY | bg_{hex:32} | Bitget
X-GEMINI-APIKEY | account-{alnum:20} | Gemini
APCA-API-SECRET-KEY | {alnum:40} | Alpaca
X-CMC_PRO_API_KEY | {uuid} | CoinMarketCap
x-cg-pro-api-key | CG-{alnum:24} | CoinGecko
X-CoinAPI-Key | {uuid} | CoinAPI
X-IG-API-KEY | {hex:40} | IG
X-SECURITY-TOKEN | {hex:64}CD01112 | IG
CST | {hex:64}CC01112 | IG
X-CAP-API-KEY | {alnum:16} | Capital.com
X-ApiKeys | accessKey={hex:64};secretKey={hex:64} | Tenable
X-OTX-API-KEY | {hex:64} | AlienVault
x-apikey | {hex:64} | VirusTotal
hibp-api-key | {hex:32} | Have I Been Pwned
Auth-Key | {hex:48} | abuse.ch
Key | {hex:80} | AbuseIPDB
x-api-token | {hex:40} | Pipedrive
api_access_token | {alnum:24} | Chatwoot
X-ChatWorkToken | {hex:32} | Chatwork
X-Cisco-Meraki-API-Key | {hex:40} | Cisco Meraki
X-Auth-Access-Token | {uuid} | Cisco Firepower
X-FeApi-Token | {b64:33} | FireEye
X-PAN-KEY | {b64:72} | Palo Alto Networks
INFA-SESSION-ID | {alnum:22} | Informatica
X-Plex-Token | {alnum:20} | Plex
X-Emby-Token | {hex:32} | Emby
X-Transmission-Session-Id | {alnum:48} | Transmission
Jenkins-Crumb | {hex:64} | Jenkins
X-CSRF-Token | {b64:64} | Rails
X-XSRF-TOKEN | {b64:120} | Laravel
X-CSRFToken | {alnum:64} | Django
requesttoken | {b64:32}:{b64:32} | Nextcloud
RequestVerificationToken | CfDJ8{b64url:100} | ASP.NET
X-SFDC-Session | 00D{alnum:12}!AQ{alnum:90} | Salesforce
X-Server-API-Key | {alnum:24} | Postal
X-ElasticEmail-ApiKey | {HEX:96} | Elastic Email
partner-key | xkeysib-{hex:64}-{alnum:16} | Brevo
Api-Token | {hex:40} | Sendbird
x-apisports-key | {hex:32} | API-Football
X-TBA-Auth-Key | {alnum:64} | The Blue Alliance
X-Riot-Token | RGAPI-{uuid} | Riot Games
user-key | {hex:32} | Zomato
trakt-api-key | {hex:64} | Trakt
X-EBAY-API-IAF-TOKEN | v^1.1#i^1#{b64:120} | eBay
WM_SEC.ACCESS_TOKEN | {jwt} | Walmart
WM_SEC.AUTH_SIGNATURE | {b64:256} | Walmart
as-api-key | asat_{hex:32} | AfterShip
apikey | {jwt} | Supabase
PLAID-SECRET | {hex:30} | Plaid
verif-hash | {alnum:32} | Flutterwave
X-Magic-Secret-Key | sk_live_{HEX:16} | Magic
X-Alchemy-Token | {b64url:24} | Alchemy
project_id | mainnet{alnum:32} | Blockfrost
TRON-PRO-API-KEY | {uuid} | TronGrid
Kong-Admin-Token | {alnum:32} | Kong
X-Gravitee-Api-Key | {uuid} | Gravitee
X-ClickHouse-Key | {alnum:13}~{alnum:6} | ClickHouse
X-OpenAI-Api-Key | sk-{alnum:48} | Weaviate
xi-api-key | sk_{hex:48} | ElevenLabs
X-JFrog-Art-Api | AKC{alnum:70} | JFrog
X-NuGet-ApiKey | oy2{lower:43} | NuGet
Circle-Token | {hex:40} | CircleCI
X-Octopus-ApiKey | API-{upper:26} | Octopus Deploy
X-Rundeck-Auth-Token | {alnum:32} | Rundeck
CSRFPreventionToken | {HEX:8}:{b64:32} | Proxmox
vmware-api-session-id | {hex:32} | VMware
X-Tableau-Auth | {b64url:16}|{alnum:32} | Tableau
X-Metabase-Session | {uuid} | Metabase
X-MSTR-AuthToken | {lower:26} | MicroStrategy
X-Appwrite-Key | {hex:256} | Appwrite
hue-application-key | {b64url:30} | Philips Hue
X-AIO-Key | aio_{alnum:28} | Adafruit IO
X-THINGSPEAKAPIKEY | {upper:16} | ThingSpeak
X-TrackerToken | {hex:32} | Pivotal Tracker
Shortcut-Token | {uuid} | Shortcut
X-PW-AccessToken | {hex:32} | Copper
X-AgreementGrantToken | {alnum:43} | e-conomic
STATSIG-API-KEY | secret-{alnum:43} | Statsig
AccessKey | {uuid}-{hex:12} | Bunny
Fastly-Key | {b64url:24} | Fastly
X-NSONE-Key | {alnum:20} | NS1
X-Ovh-Consumer | {alnum:32} | OVH
Auth-API-Token | {alnum:32} | Hetzner DNS
token | {lower:32} | NOAA
X-App-Token | {alnum:25} | Socrata
X-ELS-APIKey | {hex:32} | Elsevier
X-Dataverse-key | {uuid} | Dataverse
AccountKey | {b64:16} | LTA DataMall
digitransit-subscription-key | {hex:32} | Digitransit
"""

QUERY = """
api_key | {alnum:40} | NASA
apikey | {upper:16} | Alpha Vantage
key | AIza{b64url:26} | Google
token | {b64url:15} | IEX
access_token | EAA{alnum:150} | Meta
appid | {hex:32} | OpenWeather
app_key | {hex:32} | Edamam
application_key | {hex:40} | Datadog
X-Amz-Signature | {hex:64} | Amazon S3
X-Amz-Security-Token | {b64:120} | Amazon S3
X-Goog-Signature | {hex:512} | Google Cloud Storage
sig | {b64:32} | Azure SAS
Signature | {b64url:192} | CloudFront
hapikey | {uuid} | HubSpot
subscription-key | {hex:32} | Azure
code | {b64url:40} | Azure Functions
auth_token | {hex:40} | Twitch TV
authtoken | {hex:32} | Zoho
oauth_token | {alnum:27} | OAuth 1.0
oauth_signature | {b64:20} | OAuth 1.0
oauth_consumer_key | {alnum:25} | OAuth 1.0
signature | {hex:64} | Binance
sign | {HEX:32} | Alibaba
sid | {b64url:28} | Synology
session_id | {hex:40} | TMDB
sessionid | {lower:32} | Steam
jsessionid | {HEX:32} | Java servlets
ticket | ST-14-{alnum:30}-cas01 | CAS
SAMLRequest | {b64:180} | SAML
id_token | {jwt} | OpenID Connect
id_token_hint | {jwt} | OpenID Connect
refresh_token | {alnum:40} | OAuth 2.0
client_secret | {hex:32} | Foursquare
password | {alnum:16} | Subsonic
passwd | {alnum:16} | Synology
pwd | {alnum:18} | older services
secret | {hex:32} | WeChat
api_secret | {alnum:24} | Vonage
api_token | {hex:40} | Pipedrive
user_key | {hex:32} | 3scale
wskey | {alnum:80} | OCLC
wstoken | {hex:32} | Moodle
ws_key | {upper:32} | PrestaShop
consumer_secret | cs_{hex:40} | WooCommerce
consumer_key | ck_{hex:40} | WooCommerce
apiKey | {alnum:32} | Polygon
app_secret | {hex:32} | Meta
appsecret_proof | {hex:64} | Meta
input_token | EAA{alnum:150} | Meta
fb_exchange_token | EAA{alnum:150} | Meta
private_token | glpat-{alnum:20} | GitLab
feed_token | glft-{alnum:20} | GitLab
access_key | {hex:32} | weatherstack
AWSAccessKeyId | AKIA{upper:16} | Amazon S3
SecurityToken | CAIS{b64:120} | Alibaba
accessToken | {alnum:64} | Cesium
license_key | {alnum:16} | MaxMind
X-Plex-Token | {alnum:20} | Plex
jwt | {jwt} | Jitsi
confirmation_token | {b64url:15} | Devise
reset_password_token | {b64url:15} | Devise
unlock_token | {b64url:15} | Devise
invitation_token | {b64url:15} | Devise
otp | cccccc{lower:38} | Yubico
hmac | {hex:64} | Shopify
authKey | {alnum:32} | Ordnance Survey
auth_key | {uuid}:fx | DeepL
rlkey | {lower:25} | Dropbox
resourcekey | 0-{b64url:16} | Google Drive
ak | {alnum:32} | Baidu
corpsecret | {b64url:32} | WeCom
appsecret | {b64url:48} | DingTalk
hub.verify_token | {alnum:32} | Meta
sesskey | {alnum:10}{alnum:10} | Moodle
session_token | {alnum:48} | Databricks
api_sig | {hex:32} | Flickr
sk | {b64url:24} | Last.fm
subscription_key | {b64url:32} | Azure Maps
apitoken | {alnum:32} | EODHD
usertoken | {hex:40} | Infoblox
"""

JSON = """
access_token | {b64url:48} | OAuth 2.0
refresh_token | 1//{b64url:60} | Google
id_token | {jwt} | OpenID Connect
accessToken | {jwt} | Auth.js
refreshToken | {b64url:60} | Cognito
idToken | {jwt} | Firebase
client_secret | GOCSPX-{b64url:21} | Google
clientSecret | {b64url:30} | Keycloak
registration_access_token | {jwt} | OAuth 2.0
device_code | {b64url:32} | OAuth 2.0
api_key | {hex:32} | Datadog
apiKey | {alnum:32} | MongoDB
secret | sk_live_{alnum:24} | Stripe
secretKey | {alnum:64} | Binance
secret_key | sk_test_{alnum:24} | Paystack
SecretAccessKey | {b64:30} | AWS
SessionToken | {b64:150} | AWS
AccessKeyId | ASIA{upper:16} | AWS
AccessKeySecret | {alnum:30} | Alibaba
password | {alnum:20} | many
pwd | {alnum:20} | many
passphrase | {alnum:24} | KuCoin
private_key | {b64:120} | Google service account
privateKey | 0x{hex:64} | Ethereum
private_key_pem | {b64:120} | Terraform
auth_token | {hex:32} | Twilio
authToken | {alnum:43} | Rocket.Chat
token | {alnum:40} | GitHub
jwt | {jwt} | Strapi
bearerToken | {alnum:60} | X
session_token | {hex:64} | Clerk
sessionToken | 20111{b64url:60} | Okta
sessionId | {hex:32} | BMC
session_id | {alnum:32} | Snipe
sid | {b64url:32} | Synology
connectionString | Endpoint=sb://x.example/;SharedAccessKeyName=Root;SharedAccessKey={b64:32} | Azure
primaryKey | {b64:32} | Azure
secondaryKey | {b64:32} | Azure
primaryConnectionString | DefaultEndpointsProtocol=https;AccountName=x;AccountKey={b64:64} | Azure
accountKey | {b64:64} | Azure
primaryMasterKey | {b64:64} | Azure Cosmos DB
secondaryReadonlyMasterKey | {b64:64} | Azure Cosmos DB
sasToken | sv=2024-11-04&ss=b&srt=o&sp=r&sig={b64url:32} | Azure
sharedAccessKey | {b64:32} | Azure
accessSAS | https://md-x.example/abcd?sv=2018-03-28&sr=b&sig={b64url:32} | Azure Disks
webhook_secret | whsec_{alnum:32} | GitHub
signing_secret | {hex:32} | Slack
webhookSecret | whsec_{b64:24} | Svix
encryption_key | {b64:32} | Grafana
encryptionKey | {hex:64} | n8n
masterKey | {alnum:40} | Parse
master_key | {hex:64} | Rails
admin_key | {alnum:32} | APISIX
root_token | hvs.{alnum:24} | Vault
client_token | hvs.{alnum:90} | Vault
secret_id | {uuid} | Vault
wrapped_token | hvs.{alnum:90} | Vault
bot_access_token | xoxb-{digits:12}-{digits:12}-{alnum:24} | Slack
bot_token | {digits:10}:AA{b64url:24} | Telegram
page_access_token | EAA{alnum:150} | Meta
app_secret | {hex:32} | Meta
appSecret | {alnum:32} | Lark
consumer_secret | {alnum:50} | X
oauth_token_secret | {alnum:45} | X
access_token_secret | {alnum:45} | X
link_token | link-sandbox-{uuid} | Plaid
public_token | public-sandbox-{uuid} | Plaid
processor_token | processor-sandbox-{uuid} | Plaid
enrollment_token | {b64url:60} | Elastic
runners_token | GR1348941{alnum:20} | GitLab
incoming_email_token | glimt-{alnum:25} | GitLab
static_object_token | glsoat-{alnum:20} | GitLab
_authToken | npm_{alnum:36} | npm
npmAuthToken | npm_{alnum:36} | Yarn
identitytoken | {jwt} | Docker
auth | {b64:40} | Docker
client-key-data | {b64:150} | Kubernetes
tls.key | {b64:150} | Kubernetes
customToken | {jwt} | Firebase
oobCode | {b64url:40} | Firebase
serverKey | AAAA{alnum:7}:APA91b{b64url:100} | Firebase
pushToken | ExponentPushToken[{alnum:22}] | Expo
otp_secret | {upper:32} | Mastodon
totp_secret | {upper:32} | Bitwarden
seed | {upper:32} | Duo
otpauth_url | otpauth://totp/x:me?secret={upper:32}&issuer=x | Speakeasy
mfa_token | Fe26.2**{b64url:60} | Auth0
csrf_token | {b64:64} | GitLab
csrfToken | {hex:64} | Auth.js
authenticity_token | {b64:64} | Rails
password_reset_token | {b64url:24} | many
verification_token | {alnum:24} | Slack
credential | {jwt} | Google
assertion | {jwt} | OAuth 2.0
client_assertion | {jwt} | OAuth 2.0
subject_token | {jwt} | OAuth 2.0
listenKey | {alnum:60} | Binance
apiSecret | {alnum:36} | Zoom
signature | {b64:64} | many
hmac_key | {b64:32} | Adyen
sshPrivateKey | {b64:150} | Argo CD
adminPassword | {alnum:20} | Azure
administratorLoginPassword | {alnum:20} | Azure SQL
MasterUserPassword | {alnum:24} | Amazon RDS
db_password | {alnum:24} | many
rootPassword | {alnum:24} | Google Cloud SQL
SecretString | {alnum:32} | AWS Secrets Manager
SecretBinary | {b64:32} | AWS Secrets Manager
Plaintext | {b64:32} | AWS KMS
authorizationToken | {b64:150} | Amazon ECR
applicationKey | K004{b64:20} | Backblaze
privateKeyData | {b64:180} | Google IAM
kubeconfig | {b64:180} | DigitalOcean
UnlockKey | SWMKEY-1-{b64:32} | Docker Swarm
writeKey | {alnum:32} | Segment
sdkKey | sdk-{uuid} | LaunchDarkly
license_key | {upper:5}-{upper:5}-{upper:5}-{upper:5} | many
routing_key | {alnum:32} | PagerDuty
integration_key | {hex:32} | PagerDuty
preSharedKey | {alnum:32} | Google Cloud VPN
"""

FORM = """
client_secret | {b64url:40} | OAuth 2.0
password | {alnum:20} | OAuth 2.0
refresh_token | {b64url:48} | OAuth 2.0
code | 4/0A{b64url:54} | OAuth 2.0
code_verifier | {b64url:48} | OAuth 2.0
client_assertion | {jwt} | OAuth 2.0
assertion | {jwt} | OAuth 2.0
subject_token | {jwt} | OAuth 2.0
actor_token | {jwt} | OAuth 2.0
device_code | {b64url:32} | OAuth 2.0
token | {b64url:40} | OAuth 2.0
SAMLResponse | {b64:240} | SAML
id_token | {jwt} | OpenID Connect
passwd | {alnum:18} | many
pwd | {alnum:18} | WordPress
pass | {alnum:18} | Drupal
user[password] | {alnum:18} | Rails
session[password] | {alnum:18} | Rails
login[password] | {alnum:18} | Magento
password_confirmation | {alnum:18} | Rails
new_password | {alnum:18} | many
old_password | {alnum:18} | many
j_password | {alnum:18} | Java servlets
_password | {alnum:18} | Symfony
authenticity_token | {b64:64} | Rails
csrfmiddlewaretoken | {alnum:64} | Django
__RequestVerificationToken | CfDJ8{b64url:100} | ASP.NET
_token | {alnum:40} | Laravel
_csrf | {uuid} | Spring
form_key | {alnum:16} | Magento
form_token | {b64url:32} | Drupal
security_token | {alnum:24} | Salesforce
api_secret | {alnum:24} | Vonage
api_token | {hex:40} | Todoist
api_key | {hex:32} | Last.fm
auth_token | {hex:40} | Duo
key | md-{alnum:22} | Mandrill
signature | {hex:40} | Cloudinary
sign | {b64:256} | Alipay
passphrase | {alnum:24} | many
x_auth_password | {alnum:18} | X
x_tran_key | {alnum:16} | Authorize.Net
oauth_token_secret | {alnum:45} | OAuth 1.0
credential | {jwt} | Google
g_csrf_token | {hex:16} | Google
g-recaptcha-response | 03A{b64url:180} | Google
cf-turnstile-response | 0.{b64url:150} | Cloudflare
stripeToken | tok_{alnum:24} | Stripe
payment_method_nonce | tokencc_bh_{lower:6}_{lower:6}_{lower:6} | Braintree
sesskey | {alnum:20} | Moodle
"""

COOKIES = """
PHPSESSID | {lower:26} | PHP
JSESSIONID | {HEX:32} | Java servlets
ASP.NET_SessionId | {lower:24} | ASP.NET
ASPSESSIONIDQCSRBTRD | {upper:24} | ASP
connect.sid | s%3A{b64url:24}.{alnum:43} | Express
sessionid | {lower:32} | Django
csrftoken | {alnum:32} | Django
laravel_session | eyJpdiI6{b64url:150} | Laravel
XSRF-TOKEN | eyJpdiI6{b64url:150} | Laravel
_session_id | {hex:32} | Rails
session | eyJ1c2Vy{b64url:12}.{alnum:6}.{b64url:20} | Flask
ci_session | {lower:32} | CodeIgniter
CFTOKEN | {hex:16}-{HEX:32} | ColdFusion
AWSELBAuthSessionCookie-0 | {b64:180} | AWS
__Host-session | {b64url:32} | RFC 6265bis
__Secure-next-auth.session-token | eyJhbGciOi{b64url:150} | NextAuth.js
authjs.session-token | eyJhbGciOi{b64url:150} | Auth.js
.AspNetCore.Identity.Application | CfDJ8{b64url:150} | ASP.NET
.ASPXAUTH | {HEX:192} | ASP.NET
FedAuth | 77u/{b64:120} | SharePoint
ESTSAUTH | 0.{b64url:90} | Microsoft
SSESS0123456789abcdef0123456789abcdef | {b64url:32} | Drupal
_gitlab_session | {hex:32} | GitLab
remember_user_token | {b64:60}--{hex:40} | Devise
KEYCLOAK_IDENTITY | {jwt} | Keycloak
sb-access-token | {jwt} | Supabase
appSession | eyJhbGciOi{b64url:150} | Auth0
CF_Authorization | {jwt} | Cloudflare
grafana_session | {hex:32} | Grafana
cloud.session.token | {jwt} | Atlassian
sid | 102{b64url:30} | Okta
LtpaToken2 | {b64:120} | WebSphere
PVEAuthCookie | PVE:me@pam:{HEX:8}::{b64:256} | Proxmox
_oauth2_proxy | {b64url:90}|{digits:10}|{b64url:20} | oauth2-proxy
"""

TABLES = {"header": HEADERS, "query": QUERY, "JSON": JSON, "form": FORM, "cookie": COOKIES}


@dataclass(frozen=True)
class Name:
    """A credential's name in a place, as a service documents it.

    Attributes:
        place: header, query, JSON, form or cookie.
        number: of the case in its list; decides by turns where JSON and cookies stand.
    """

    place: str
    name: str
    format: str
    service: str
    number: int

    @property
    def looks_alike(self) -> bool:
        """Whether values of this format cannot be told from a UUID or a digest."""
        return re.fullmatch(r"\{uuid\}|\{(hex|HEX):(32|40|56|64|96|128)\}", self.format) is not None


def cases(tables: Mapping[str, str]) -> list[Name]:
    """Return the cases of tables, by place."""
    lines = [(place, line.split(" | ")) for place, table in tables.items() for line in table.strip().splitlines()]
    return [Name(place, *parts, number) for number, (place, parts) in enumerate(lines)]


CASES = cases(TABLES)


def new_value(form: str, numbers: random.Random) -> tuple[str, list[str]]:
    """Return a random value of a format, and the parts of it that may not stay: its long random parts, or all of it."""
    parts: list[str] = []

    def part(match: re.Match[str]) -> str:
        parts.append(_random_part(match[1], int(match[2] or 0), numbers))
        return parts[-1]

    value = re.sub(r"\{(\w+):?(\d*)\}", part, form)
    return value, [text for text in parts if len(text) >= 12] or [value]


_ALPHABETS = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "digits": string.digits,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + "234567",
    "alnum": string.ascii_letters + string.digits,
}


def _random_part(kind: str, size: int, numbers: random.Random) -> str:
    match kind:
        case "b64":
            return base64.b64encode(numbers.randbytes(size)).decode()
        case "b64url":
            return base64.urlsafe_b64encode(numbers.randbytes(size)).decode().rstrip("=")
        case "uuid":
            text = f"{numbers.getrandbits(128):032x}"
            return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"
        case "jwt":
            claims = [{"alg": "RS256", "typ": "JWT"}, {"sub": f"{numbers.getrandbits(40)}", "iat": 1790000000}]
            encoded = [base64.urlsafe_b64encode(json.dumps(item).encode()).decode().rstrip("=") for item in claims]
            return ".".join([*encoded, _random_part("b64url", 96, numbers)])
    return "".join(numbers.choices(_ALPHABETS[kind], k=size))
