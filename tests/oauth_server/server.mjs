// Starts oidc-provider, an OpenID Certified server, as its users do: configuration only.
//
// Standard input: one line of JSON, {"clients": [...], "scopes": [...]}, clients as OpenID Connect Dynamic
// Client Registration 1.0 names their fields. Standard output: one line of JSON, {"issuer": "..."}, once it
// listens. It ends when its standard input does, so that it does not outlive whoever started it.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const installed = process.argv[2]; // the folder that holds node_modules
const require = createRequire(join(installed, "package.json"));
const { Provider, errors } = await import(pathToFileURL(require.resolve("oidc-provider")).href);

const ASYMMETRIC = ["ES256", "ES384", "ES512", "EdDSA", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];
const CLOCK_TOLERANCE = 15; // seconds
const TOKEN_VALIDITY = 900; // seconds

async function serve({ clients, scopes }) {
  const server = createServer();
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const issuer = `http://127.0.0.1:${server.address().port}`; // known only now: the port is any free one
  const provider = new Provider(issuer, {
    clients,
    scopes,
    clientAuthMethods: ["client_secret_post", "private_key_jwt"],
    enabledJWA: { clientAuthSigningAlgValues: ASYMMETRIC },
    clockTolerance: CLOCK_TOLERANCE,
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      introspection: { enabled: true },
    },
    routes: { token: "/v1/oauth2/token", introspection: "/introspection" },
    ttl: { ClientCredentials: TOKEN_VALIDITY },
    // The server leaves it to its operator whether an assertion may come from the future.
    async assertJwtClientAuthClaimsAndHeader(ctx, claims) {
      if (claims.iat > Date.now() / 1000 + CLOCK_TOLERANCE) {
        throw new errors.InvalidClientAuth("iat (JWT issued at) must not be in the future");
      }
    },
  });
  provider.on("grant.error", (ctx, error) => {
    console.log(JSON.stringify({ refused: error.cause?.message ?? error.error_detail ?? error.error_description }));
  });
  server.on("request", provider.callback());
  console.log(JSON.stringify({ issuer }));
}

const lines = createInterface({ input: process.stdin });
lines.once("line", (line) => serve(JSON.parse(line)));
lines.once("close", () => process.exit());
