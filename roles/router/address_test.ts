import assert from "node:assert/strict";
import fc from "fast-check";
import {
  authorityOf,
  hostOf,
  isLoopback,
  literalIp,
  parseListener,
  parseMemberEndpoint,
} from "./address.ts";

Deno.test("listener: a literal IP and a port, nothing else", () => {
  assert.deepEqual(parseListener("127.0.0.1:8080"), { hostname: "127.0.0.1", port: 8080 });
  assert.deepEqual(parseListener("[::1]:0"), { hostname: "::1", port: 0 });
  assert.deepEqual(parseListener("[2001:DB8:0::1]:65535"), {
    hostname: "2001:db8::1",
    port: 65535,
  });
  for (
    const text of [
      "",
      "127.0.0.1",
      "127.0.0.1:",
      "127.0.0.1:65536",
      "127.0.0.1:-1",
      "127.0.0.1:8080 ",
      "localhost:8080",
      ":8080",
      "8080",
      "::1:8080",
      "[127.0.0.1]:8080",
      "[::1%eth0]:8080",
      "[::1]",
      "256.0.0.1:1",
      "127.1:80",
      "0127.0.0.1:80",
      "http://127.0.0.1:80",
    ]
  ) assert.equal(parseListener(text), null, text);
});

Deno.test("member endpoint: http, a literal IP, a port; every refusal has its code", () => {
  const ok = { kind: "ok", endpoint: { hostname: "192.0.2.7", port: 8001 } };
  assert.deepEqual(parseMemberEndpoint("http://192.0.2.7:8001"), ok);
  assert.deepEqual(parseMemberEndpoint("http://192.0.2.7:8001/"), ok);
  const refused: [string, string][] = [
    ["https://192.0.2.7:8001", "endpoint_tls"],
    ["http://192.0.2.7:8001/v1", "endpoint_malformed"],
    ["http://192.0.2.7:8001?x", "endpoint_malformed"],
    ["192.0.2.7:8001", "endpoint_malformed"],
    ["HTTP://192.0.2.7:8001", "endpoint_malformed"],
    ["unix:/run/x", "endpoint_malformed"],
    ["", "endpoint_malformed"],
    ["http://user:CANARY@192.0.2.7:8001", "endpoint_userinfo"],
    ["http://gpu-a:8001", "endpoint_not_literal"],
    ["http://192.0.2.7", "endpoint_not_literal"],
    ["http://192.0.2.7:0", "endpoint_not_literal"],
    ["http://0.0.0.0:8001", "endpoint_unspecified"],
    ["http://[::]:8001", "endpoint_unspecified"],
  ];
  for (const [text, code] of refused) {
    const parsed = parseMemberEndpoint(text);
    assert.equal(parsed.kind === "refused" && parsed.code, code, text);
    assert.ok(!JSON.stringify(parsed).includes("CANARY"));
  }
});

Deno.test("addresses: one spelling, which reads back as itself", () => {
  fc.assert(fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat({ max: 65_535 }), (ip, port) => {
    const hostname = literalIp(ip);
    assert.ok(hostname !== null, ip);
    assert.equal(literalIp(hostname), hostname);
    assert.deepEqual(parseListener(authorityOf({ hostname, port })), { hostname, port });
  }));
  for (const text of ["", "a", "1.2.3", "1.2.3.4.5", "::g", "1:2", "[::1]", "::1]"]) {
    assert.equal(literalIp(text), null, text);
  }
});

Deno.test("loopback: both families are one host", () => {
  assert.equal(hostOf("127.0.0.1"), hostOf("::1"));
  assert.equal(hostOf("127.9.9.9"), "loopback");
  assert.equal(isLoopback("192.0.2.127"), false);
  assert.equal(hostOf("192.0.2.1"), "192.0.2.1");
});
