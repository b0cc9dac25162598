import assert from "node:assert/strict";
import fc from "fast-check";
import {
  findRequestEnd,
  HEAD_LINES,
  type ParsedRequest,
  parseRequestHead,
  type RequestSearch,
} from "./request_head.ts";

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Reads a head as it arrives, `step` bytes at a time; null when it never ends. */
function parse(text: string, step = 1 << 20): ParsedRequest | null {
  const bytes = bytesOf(text);
  const search: RequestSearch = { start: 0, line: 0, lines: 0, at: 0, skipped: false };
  for (let end = Math.min(step, bytes.length);; end = Math.min(end + step, bytes.length)) {
    const found = findRequestEnd(bytes, end, search);
    if (typeof found !== "number") return found;
    if (found >= 0) return parseRequestHead(bytes, search.start, found);
    if (end === bytes.length) return null;
  }
}

const head = (...lines: string[]) => `${lines.join("\r\n")}\r\n\r\n`;
const get = (...lines: string[]) => head("GET / HTTP/1.1", "host: x", ...lines);
const post = (...lines: string[]) => head("POST /v1 HTTP/1.1", "host: x", ...lines);

/** What is refused, by its code. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  head_malformed: [
    head("GET /"),
    head("GET  / HTTP/1.1", "host: x"),
    head("GET / HTTP/1.1 ", "host: x"),
    head(" GET / HTTP/1.1", "host: x"),
    head("GET / http/1.1", "host: x"),
    head("GET / HTTP/1.10", "host: x"),
    head("GET\t/ HTTP/1.1", "host: x"),
    head("G(T / HTTP/1.1", "host: x"),
    head(`${"M".repeat(65)} / HTTP/1.1`, "host: x"),
    head("GET x HTTP/1.1", "host: x"),
    head("GET /a b HTTP/1.1", "host: x"),
    head("GET /a#b HTTP/1.1", "host: x"),
    head("GET /\x80 HTTP/1.1", "host: x"),
    head("GET /\0 HTTP/1.1", "host: x"),
    head("GET /\x7f HTTP/1.1", "host: x"),
    head("GET http:// HTTP/1.1", "host: x"),
    head("GET ftp://x/ HTTP/1.1", "host: x"),
    head("CONNECT x:1 HTTP/1.1", "host: x"),
    head("GET *x HTTP/1.1", "host: x"),
    "GET / HTTP/1.1\nhost: x\n\n",
    "GET / HTTP/1.1\r\nhost: x\n\r\n",
    "GET / HTTP/1.1\r\nhost: x\r\n\n",
    "GET / HTTP/1.1\rhost: x\r\n\r\n",
    "\nGET / HTTP/1.1\r\nhost: x\r\n\r\n",
    "\r\n\r\nGET / HTTP/1.1\r\nhost: x\r\n\r\n",
    get("a: 1", " folded"),
    get("a: 1", "\tfolded"),
    head("GET / HTTP/1.1", " host: x"),
    get("a : 1"),
    get("a\t: 1"),
    get(": 1"),
    get("a"),
    get("a b: 1"),
    get("(a): 1"),
    get("\x80: 1"),
    get("a: \0"),
    get("a: b\rc"),
    get("a: \x7f"),
    get("a: \x0b"),
    get("a\0: b"),
  ],
  host_invalid: [
    head("GET / HTTP/1.1"),
    head("GET / HTTP/1.1", "host: x", "host: x"),
    head("GET / HTTP/1.1", "host: x", "Host: y"),
    head("GET / HTTP/1.1", "host: x/y"),
    head("GET / HTTP/1.1", "host: x y"),
    head("GET / HTTP/1.1", "host: x@y"),
    head("GET / HTTP/1.0", "host: a", "host: b"),
  ],
  framing_ambiguous: [
    post("content-length: 5", "transfer-encoding: chunked"),
    post("transfer-encoding: chunked", "content-length: 5"),
    post("content-length: 5", "content-length: 5"),
    post("content-length: 5", "content-length: 6"),
    post("content-length: 5, 5"),
    post("content-length: -1"),
    post("content-length: +1"),
    post("content-length: 0x5"),
    post("content-length: 5 " + "5"),
    post("content-length: 1e3"),
    post("content-length:"),
    post(`content-length: ${"9".repeat(16)}`),
    head("POST / HTTP/1.0", "transfer-encoding: chunked"),
    post("content-length: 5", "transfer-encoding: identity"),
  ],
  transfer_encoding_unsupported: [
    post("transfer-encoding: gzip"),
    post("transfer-encoding: gzip, chunked"),
    post("transfer-encoding: chunked, gzip"),
    post("transfer-encoding: identity"),
    post("transfer-encoding: chunked", "transfer-encoding: chunked"),
    post("transfer-encoding: chunked;q=1"),
    post("transfer-encoding:"),
    post("transfer-encoding: \x0bchunked".replace("\x0b", "x")),
  ],
  version_unsupported: [
    head("PRI * HTTP/2.0"),
    head("GET / HTTP/2"),
    head("GET / HTTP/1.2", "host: x"),
    head("GET / HTTP/0.9"),
    head("GET / HTTP/3.0"),
  ],
  expectation_unsupported: [
    post("content-length: 5", "expect: 200-ok"),
    post("content-length: 5", "expect: 100-continue, more"),
    post("content-length: 5", "expect: 100-continue", "expect: 100-continue"),
  ],
  head_too_large: [
    get(...Array(HEAD_LINES - 1).fill("a: 1")),
    get(`a: ${"x".repeat(65 * 1024)}`),
    get(`a: ${"x".repeat(65 * 1024)}`).slice(0, 65 * 1024 + 20),
    get(...Array(60).fill(`a: ${"x".repeat(1200)}`)),
  ],
  target_too_long: [
    head(`GET /${"x".repeat(16 * 1024)} HTTP/1.1`, "host: x"),
    `GET /${"x".repeat(20 * 1024)}`,
  ],
};

for (const [code, heads] of Object.entries(REFUSED)) {
  Deno.test(`request head: refused as ${code}, however it arrives`, () => {
    for (const text of heads) {
      for (const step of [1 << 20, 7]) {
        const parsed = parse(text, step);
        assert.ok(parsed?.kind === "refused", `${JSON.stringify(text.slice(0, 60))} was taken`);
        assert.equal(parsed.code, code, `${JSON.stringify(text.slice(0, 60))}: ${parsed.cause}`);
      }
    }
  });
}

Deno.test("request head: what is taken, and as what", () => {
  const taken = (text: string) => {
    const parsed = parse(text);
    assert.ok(parsed?.kind === "head", JSON.stringify(parsed));
    return parsed.head;
  };
  const plain = taken(
    head("POST /v1/x?a=1 HTTP/1.1", "Host: [::1]:80", "X-A:\t b \xe9c  ", "x-a:"),
  );
  assert.deepEqual(plain, {
    method: "POST",
    target: "/v1/x?a=1",
    minor: 1,
    headers: [["host", "[::1]:80"], ["x-a", "b \xe9c"], ["x-a", ""]],
    framing: { kind: "none" },
    keepAlive: true,
    expects: false,
  });
  assert.deepEqual(taken(post("Content-Length: 0012")).framing, { kind: "length", size: 12 });
  assert.deepEqual(taken(post("content-length: 0")).framing, { kind: "none" });
  assert.deepEqual(taken(post("Transfer-Encoding: Chunked")).framing, { kind: "chunked" });
  for (const target of ["*", "//x", "/a/../b", "http://192.0.2.1/x", "HTTPS://h", "/%00"]) {
    assert.equal(taken(head(`OPTIONS ${target} HTTP/1.1`, "host:")).target, target);
  }
  assert.equal(taken(head("BREW / HTTP/1.1", "host: x")).method, "BREW");
  assert.equal(taken("\r\n" + get()).method, "GET");
  assert.equal(taken(get(...Array(HEAD_LINES - 2).fill("a: 1"))).headers.length, HEAD_LINES - 1);
});

Deno.test("request head: whether the connection goes on, and who waits for a go-ahead", () => {
  const goesOn = (version: string, ...lines: string[]) => {
    const parsed = parse(head(`GET / HTTP/${version}`, "host: x", ...lines));
    return parsed?.kind === "head" && parsed.head.keepAlive;
  };
  assert.equal(goesOn("1.1"), true);
  assert.equal(goesOn("1.1", "connection: close"), false);
  assert.equal(goesOn("1.1", "connection: keep-alive, Close"), false);
  assert.equal(goesOn("1.1", "connection: x-a", "connection: close"), false);
  assert.equal(goesOn("1.1", "connection: upgrade", "upgrade: h2c"), true);
  assert.equal(goesOn("1.0"), false);
  assert.equal(goesOn("1.0", "connection: Keep-Alive"), true);
  assert.equal(goesOn("1.0", "connection: keep-alive, close"), false);
  const waits = (version: string, ...lines: string[]) => {
    const parsed = parse(head(`POST / HTTP/${version}`, "host: x", ...lines));
    return parsed?.kind === "head" && parsed.head.expects;
  };
  assert.equal(waits("1.1", "content-length: 1", "expect: 100-Continue"), true);
  assert.equal(waits("1.1", "expect: 100-continue"), false);
  assert.equal(waits("1.0", "content-length: 1", "expect: 100-continue"), false);
});

const token = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,12}$/);
const value = fc.stringMatching(/^[\x21-\x7e\x80-\xff]{0,20}$/);
const others = fc.array(fc.tuple(token, value), { maxLength: 12 }).map((list) =>
  list.filter(([name]) =>
    !/^(host|content-length|transfer-encoding|connection|expect)$/i.test(name)
  )
);

Deno.test("request head: any split of the bytes gives the same head", () => {
  fc.assert(fc.property(others, fc.integer({ min: 1, max: 40 }), (headers, step) => {
    const text = post(...headers.map(([name, value]) => `${name}: ${value}`));
    const whole = parse(text);
    assert.ok(whole?.kind === "head", JSON.stringify(whole));
    assert.deepEqual(parse(text, step), whole);
    assert.deepEqual(
      whole.head.headers.slice(1),
      headers.map(([name, value]) => [name.toLowerCase(), value]),
    );
  }));
});

Deno.test("request head: bytes changed at will are refused or read as what they then say", () => {
  const byte = fc.integer({ min: 0, max: 255 });
  const change = fc.tuple(fc.nat(), byte, fc.constantFrom("put", "insert", "drop"));
  fc.assert(
    fc.property(others, fc.array(change, { maxLength: 4 }), (headers, changes) => {
      let text = post("content-length: 3", ...headers.map(([name, value]) => `${name}: ${value}`));
      for (const [where, code, kind] of changes) {
        const at = where % text.length;
        const put = kind === "drop" ? "" : String.fromCharCode(code);
        text = text.slice(0, at) + put + text.slice(kind === "insert" ? at : at + 1);
      }
      const parsed = parse(text);
      if (parsed?.kind !== "head") return;
      // Written out again as the plainest of clients would, it is read as the same message.
      const { method, target, minor, headers: list } = parsed.head;
      const again = parse(
        head(
          `${method} ${target} HTTP/1.${minor}`,
          ...list.map(([name, value]) => `${name}: ${value}`),
        ),
      );
      assert.deepEqual(again, parsed);
      // And a reader that knows nothing but lines and colons sees the same lengths.
      const naive = text.split("\r\n\r\n")[0]?.toLowerCase().split(/\r\n|\r|\n/) ?? [];
      const told = naive.filter((line) => /^\s*(content-length|transfer-encoding)\s*:/.test(line));
      const { framing } = parsed.head;
      assert.ok(told.length <= 1, text);
      const size = Number(/^content-length: *0*([0-9]+) *$/.exec(told[0] ?? "")?.[1] ?? 0);
      if (framing.kind === "length") assert.equal(framing.size, size, text);
      else if (framing.kind === "none") assert.ok(told.length === 0 || size === 0, text);
    }),
    { numRuns: 2000 },
  );
});
