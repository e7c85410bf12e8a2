"""The token endpoint (section 4.1), which answers a form with a token response.

The service document does not show errors; their codes and statuses are those of RFC 6749 section 5.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from toolkit.auth.assertion import ASSERTION_TYPE
from toolkit.core.document import GRANT_TYPE, TOKEN_PATH, Environment, header_names
from toolkit.core.secret import Secret
from toolkit.practice_service.assertions import AssertionInvalidError, Assertions
from toolkit.practice_service.authentication import RequestHeaders, RequestRefusedError

if TYPE_CHECKING:
    from toolkit.practice_service.holders import Client, Holders, Tokens

FORM_TYPE: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 20
_METHOD_FIELDS: Final = ("client_secret", "client_assertion")


class TokenEndpoint:
    """Authenticates the clients of broker partners and issues tokens to them."""

    def __init__(self, holders: Holders, tokens: Tokens, assertions: Assertions) -> None:
        self._holders = holders
        self._tokens = tokens
        self._assertions = assertions

    def respond(
        self, environment: Environment, address: str, headers: RequestHeaders, query: str, body: bytes
    ) -> dict[str, Any]:
        """Return the token response to a request.

        Args:
            environment: the broker environment of this endpoint.
            address: the auth address as the caller wrote it, which may be the audience of an assertion.
            headers, query, body: parts of the request.

        Raises:
            RequestRefusedError: if it is malformed, or does not identify a client of this environment.
        """
        fields = _form_fields(headers, query, body)
        _check_methods(fields, headers)
        client = self._client(fields, environment, address)
        grant_type = fields.get("grant_type")
        if grant_type is None:
            raise _invalid_request("grant_type is missing.")
        if grant_type != GRANT_TYPE:
            raise RequestRefusedError(400, "unsupported_grant_type", f"The grant type must be {GRANT_TYPE}.")
        return self._tokens.issue(client.holder)

    def _client(self, fields: dict[str, str], environment: Environment, address: str) -> Client:
        if "client_assertion" in fields:
            return self._client_by_assertion(fields, environment, address)
        if "client_id" not in fields:
            raise _invalid_request("client_id is missing.")
        client = self._holders.client(environment, fields["client_id"])
        if client is None or client.secret is None or client.secret != Secret(fields["client_secret"]):
            raise _invalid_client("No client of this environment has this client ID and client secret.")
        return client

    def _client_by_assertion(self, fields: dict[str, str], environment: Environment, address: str) -> Client:
        assertion = Secret(fields["client_assertion"])
        if fields.get("client_assertion_type") != ASSERTION_TYPE:
            raise _invalid_request("client_assertion_type is missing, or differs from RFC 7523 section 2.2.")
        try:
            claimed = self._assertions.claimed_client_id(assertion)
            client = self._holders.client(environment, claimed)
            if client is None or client.public_key is None:
                raise _invalid_client("No client of this environment with a key has the client ID in iss.")
            if fields.get("client_id", claimed) != claimed:
                raise _invalid_client("client_id and the iss of the assertion differ.")
            self._assertions.check(assertion, client, (f"{address}{TOKEN_PATH}", address))
        except AssertionInvalidError as error:
            raise _invalid_client(f"The client assertion is refused: {error}") from None
        return client


def _form_fields(headers: RequestHeaders, query: str, body: bytes) -> dict[str, str]:
    """Return the form without empty fields, which count as omitted (RFC 6749 section 3.2)."""
    content_types = headers.getlist("content-type")
    if len(content_types) != 1 or content_types[0].partition(";")[0].strip().lower() != FORM_TYPE:
        raise _invalid_request(f"The body must be a form, with Content-Type {FORM_TYPE}.")
    if query:
        raise _invalid_request("The URL of the token endpoint must not have a query; put the fields into the body.")
    try:
        pairs = parse_qsl(
            body.decode("utf-8"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        # The message of the error quotes the field.
        raise _invalid_request("The body is not a well-formed form.") from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _invalid_request("A form field must not be given twice.")
    return {name: value for name, value in fields.items() if value}


def _check_methods(fields: dict[str, str], headers: RequestHeaders) -> None:
    """Check that there is exactly one way to authenticate, in the form (section 4.1; RFC 6749 section 2.3)."""
    authorization = headers.getlist("authorization")
    in_headers = bool(authorization) or any(headers.getlist(name) for name in header_names())
    in_form = [name for name in _METHOD_FIELDS if name in fields]
    if len(in_form) + in_headers > 1:
        raise _invalid_request("Use one authentication method: client_secret or client_assertion, in the form.")
    if in_headers:
        # RFC 6749 section 5.2: 401, with the scheme that the caller used.
        scheme = "Bearer" if authorization and authorization[0].lower().startswith("bearer") else "Basic"
        raise _invalid_client(
            "Put the credentials into the form; headers are not accepted.", (f'{scheme} realm="practice"',)
        )
    if not in_form:
        raise _invalid_client("The form has neither client_secret nor client_assertion.")


def _invalid_request(message: str) -> RequestRefusedError:
    return RequestRefusedError(400, "invalid_request", message)


def _invalid_client(message: str, challenges: tuple[str, ...] = ()) -> RequestRefusedError:
    """Return a 401 (RFC 6749 section 5.2), by default without a challenge, since no header would be accepted."""
    return RequestRefusedError(
        401, "invalid_client", message, [("WWW-Authenticate", challenge) for challenge in challenges]
    )
