import assert from "node:assert/strict";
import { targetOf } from "./target.ts";

Deno.test("target: path and query as they were sent, whatever the authority says", () => {
  const cases: [string, string, string][] = [
    ["http://127.0.0.1:1/v1/models", "/v1/models", ""],
    ["http://evil@x:99/v1/models?a=/b?c#d", "/v1/models", "?a=/b?c"],
    ["http://h//v1/../x/%2e%2e", "//v1/../x/%2e%2e", ""],
    ["http://h", "/", ""],
    ["http://h/", "/", ""],
    ["http://h/a#b?c", "/a", ""],
    ["http://h/a?", "/a", "?"],
    ["/v1/models?next=http://x/y", "/v1/models", "?next=http://x/y"],
  ];
  for (const [url, path, query] of cases) assert.deepEqual(targetOf(url), { path, query }, url);
});
