import assert from "node:assert/strict";
import { DIALECTS, familyOf, routeOf, ROUTES } from "./dialect.ts";

Deno.test("routes: exactly as written, nothing decoded or folded", () => {
  assert.equal(routeOf("/v1/chat/completions")?.dialect, "openai-chat");
  assert.equal(routeOf("/v1/messages")?.dialect, "anthropic-messages");
  for (
    const path of [
      "/v1/chat/completions/",
      "//v1/chat/completions",
      "/v1//chat/completions",
      "/v1/./chat/completions",
      "/v1/x/../chat/completions",
      "/v1/chat%2Fcompletions",
      "/V1/chat/completions",
      "/v1/messages?x",
      "v1/messages",
      "",
      "toString",
    ]
  ) assert.equal(routeOf(path), null, path);
});

Deno.test("routes: each path once, each of a declared dialect", () => {
  assert.equal(new Set(ROUTES.map(({ path }) => path)).size, ROUTES.length);
  for (const route of ROUTES) assert.ok(DIALECTS.includes(route.dialect), route.path);
});

Deno.test("family: by path, and by Anthropic's header where the path does not say", () => {
  const none = new Headers();
  const versioned = new Headers({ "anthropic-version": "2023-06-01" });
  assert.equal(familyOf("/v1/messages", none), "anthropic");
  assert.equal(familyOf("/v1/messages/count_tokens", none), "anthropic");
  assert.equal(familyOf("/v1/models", none), "openai");
  assert.equal(familyOf("/v1/models", versioned), "anthropic");
});
