"""Profiles: named credentials for one environment, kept outside code in saved files, environment variables or `.env`.

`load_credentials` looks in these places, and takes the whole profile from the first place that has it:

1. environment variables, such as TOOLKIT_BROKER_SANDBOX_CLIENT_ID for the profile "default" and
   TOOLKIT_BROKER_SANDBOX__MY_FUND_CLIENT_ID for the profile "my-fund";
2. the same variables in the project's `.env` file, which are not added to `os.environ`;
3. profiles saved with `save_credentials`: files in the user's configuration folder, encrypted with a key in the system
   keyring if there is one.

Fields from two places are never combined: otherwise a cloned repository's `.env` could change what one of the user's
secrets is used for. If the settings give the addresses of a practice service that runs in this process, the service's
credentials take precedence over profiles of the same name. A replay does not need credentials.

- `saving` loads, saves, lists and removes profiles in these places, and registers practice services.
- `fields` reads variables and `.env`, and converts credentials to fields and back.
- `saved` reads and writes the files, which also contain the destinations, and manages the key that encrypts the files.

A file `<environment>.<name>.toml` in the folder of saved profiles may be written by hand:

    client_id = "..."
    private_key_file = "~/keys/broker.pem"          # or client_secret_file, secret_key_file; relative to this file
    private_key_passphrase_file = "~/keys/phrase"   # or private_key_passphrase
    assertion_lifetime = "30"                       # seconds; also algorithm, audience, private_key_id
    assertion_typ = "none"                          # leaves out the type, which is "JWT" by default
    form_fields = "scope=accounts.read"             # URL-encoded; also for a client secret

    [destinations]                                  # header_prefix too, for a key pair
    auth = "https://auth.example.com"
    broker = "https://broker.example.com/v1"
"""
