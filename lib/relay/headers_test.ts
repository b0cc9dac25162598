import assert from "node:assert/strict";
import { toClient, toMember } from "./headers.ts";

const HOP_BY_HOP: [string, string][] = [
  ["keep-alive", "timeout=5"],
  ["proxy-authenticate", "Basic"],
  ["proxy-authorization", "Basic x"],
  ["proxy-connection", "close"],
  ["te", "trailers"],
  ["trailer", "x-sum"],
  ["transfer-encoding", "chunked"],
  ["upgrade", "h2c"],
];

Deno.test("to the member: end-to-end headers, no credential, nothing encoded", () => {
  const sent: [string, string][] = [
    ...HOP_BY_HOP,
    ["connection", "keep-alive, X-Private , http2-settings"],
    ["x-private", "1"],
    ["http2-settings", "AA"],
    ["authorization", "Bearer c"],
    ["x-api-key", "c"],
    ["cookie", "c"],
    ["host", "h"],
    ["content-length", "5"],
    ["accept-encoding", "gzip, br"],
    ["expect", "100-continue"],
    ["forwarded", "for=192.0.2.1"],
    ["x-forwarded-for", "192.0.2.1"],
    ["x-real-ip", "192.0.2.1"],
    ["access-control-request-method", "POST"],
    ["content-type", "application/json"],
    ["anthropic-version", "2023-06-01"],
    ["x-custom", "a, b"],
    ["x-custom", "c"],
  ];
  assert.deepEqual(toMember(sent), [
    ["accept-encoding", "identity"],
    ["content-type", "application/json"],
    ["anthropic-version", "2023-06-01"],
    ["x-custom", "a, b"],
    ["x-custom", "c"],
  ]);
  assert.deepEqual(
    toMember([["connection", "accept-encoding"], ["connection", "accept"], ["accept", "a"]]),
    [
      ["accept-encoding", "identity"],
    ],
  );
});

Deno.test("to the client: end-to-end headers, in order and as often as they came", () => {
  assert.deepEqual(
    toClient([
      ...HOP_BY_HOP,
      ["connection", "close"],
      ["connection", "x-hop, X-Other"],
      ["x-hop", "1"],
      ["x-other", "1"],
      ["x-request-id", "theirs"],
      ["x-anvil-tier", "forged"],
      ["x-anvil-code", "forged"],
      ["access-control-allow-origin", "https://example.org"],
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
      ["content-length", "5"],
      ["content-type", "text/event-stream"],
    ]),
    [
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
      ["content-length", "5"],
      ["content-type", "text/event-stream"],
    ],
  );
});
