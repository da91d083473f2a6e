// The OpenID provider of the tests: node server.mjs PORT. Whoever enters a name is signed in as it. Where it says what it knows of people is
// its default: in UserInfo, and not in the ID token.
import Provider from "oidc-provider";

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;

const provider = new Provider(issuer, {
  clients: [{
    client_id: "dormouse",
    client_secret: "client-secret",
    application_type: "native", // which may come back to any port of this machine
    redirect_uris: ["https://desk.example.com/v1/signed-in", "http://127.0.0.1/v1/signed-in"],
  }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: id, email: `${id}@acme.example`, email_verified: id !== "mallory", groups: ["office"] }),
  }),
  pkce: { required: () => true },
  cookies: { keys: ["a key of this test alone"] },
});

provider.listen(port, "127.0.0.1");
