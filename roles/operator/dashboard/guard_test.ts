import assert from "node:assert/strict";
import { allowedHosts, POLICY, refusedBy } from "./guard.ts";

const HOSTS = allowedHosts("127.0.0.1", 8790);
const status = (headers: Record<string, string>, method = "GET") =>
  refusedBy({ method, headers: new Headers(headers) }, HOSTS)?.[0] ?? null;

Deno.test("guard: only reading methods", () => {
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]) {
    assert.equal(status({ host: "127.0.0.1:8790" }, method), 405, method);
  }
  assert.equal(status({ host: "127.0.0.1:8790" }, "HEAD"), null);
});

Deno.test("guard: a name that points here is not ours, nor another port, nor no Host", () => {
  assert.equal(status({ host: "localhost:8790" }), null);
  assert.equal(status({ host: "LOCALHOST:8790" }), null);
  for (
    const host of [
      "evil.example:8790",
      "127.0.0.1",
      "127.0.0.1:80",
      "127.0.0.1:8790.evil.example",
      "localhost.evil.example:8790",
      "127.0.0.2:8790",
      "",
    ]
  ) assert.equal(status({ host }), 421, host);
  assert.equal(status({}), 421);
  assert.ok(allowedHosts("::1", 1).has("[::1]:1"));
});

Deno.test("guard: another page may link here, and ask for nothing", () => {
  const host = "127.0.0.1:8790";
  const from = (site: string, mode = "cors", dest = "empty") =>
    status({ host, "sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest });
  assert.equal(from("same-origin"), null);
  assert.equal(from("none", "navigate", "document"), null);
  assert.equal(from("cross-site"), 403);
  assert.equal(from("same-site"), 403, "another port of this machine is another page");
  assert.equal(from("cross-site", "no-cors", "script"), 403);
  assert.equal(from("cross-site", "navigate", "iframe"), 403);
  assert.equal(from("cross-site", "navigate", "document"), null);
});

Deno.test("guard: the policy lets nothing inline and nothing from elsewhere in", () => {
  assert.ok(!/unsafe|https?:|\*|data:/.test(POLICY), POLICY);
  for (const part of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"]) {
    assert.ok(POLICY.includes(part), part);
  }
});
