import assert from "node:assert/strict";
import { findHeadEnd, HEAD_LINES, parseHead } from "./http1_head.ts";

const latin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

function parse(text: string) {
  const bytes = latin1(text);
  return parseHead(bytes, 0, bytes.length);
}

function headOf(text: string) {
  const parsed = parse(text);
  assert.ok(parsed.kind === "head", JSON.stringify(parsed));
  return parsed.head;
}

Deno.test("the end of a head is found from read to read, and no byte is looked at twice", () => {
  const text = "HTTP/1.1 200 OK\r\nx: y\r\n\r\nbody\r\n\r\n";
  const bytes = latin1(text);
  const search = { line: 0, lines: 0, at: 0 };
  for (let end = 0; end < 25; end++) {
    assert.equal(findHeadEnd(bytes, end, search), -1);
    assert.equal(search.at, end);
  }
  assert.equal(findHeadEnd(bytes, bytes.length, search), 25);
});

Deno.test("bytes left in the buffer behind the end are not taken for the head", () => {
  const search = { line: 0, lines: 0, at: 0 };
  assert.equal(findHeadEnd(latin1("HTTP/1.1 200 OK\r\n\r\n"), 16, search), -1);
});

Deno.test("256 lines are a head, 257 are not", () => {
  const lines = (count: number) =>
    latin1("HTTP/1.1 200 OK\r\n" + "x: y\r\n".repeat(count - 1) + "\r\n");
  const fits = lines(HEAD_LINES);
  assert.equal(findHeadEnd(fits, fits.length, { line: 0, lines: 0, at: 0 }), fits.length);
  const over = lines(HEAD_LINES + 1);
  assert.match(String(findHeadEnd(over, over.length, { line: 0, lines: 0, at: 0 })), /256 lines/);
});

Deno.test("values lose spaces and tabs around them and nothing else", () => {
  const { headers } = headOf("HTTP/1.1 200\r\nX-A: \t b c\xa0\t \r\nx-b:\r\nx-c:d:e\r\n\r\n");
  assert.deepEqual(headers, [["x-a", "b c\xa0"], ["x-b", ""], ["x-c", "d:e"]]);
});

Deno.test("a long line of spaces is refused in linear time", () => {
  const line = "x:" + " ".repeat(60_000) + "\x01";
  assert.equal(parse(`HTTP/1.1 200 OK\r\n${line}\r\n\r\n`).kind, "malformed");
});

Deno.test("framing and keep-alive follow version, status and headers", () => {
  const rows = [
    ["HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n", { kind: "length", size: 3 }, true],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n", { kind: "chunked" }, true],
    ["HTTP/1.1 200 OK\r\n\r\n", { kind: "close" }, false],
    ["HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\n", { kind: "length", size: 3 }, false],
    ["HTTP/1.1 204 No\r\ncontent-length: 3\r\n\r\n", { kind: "none" }, true],
    ["HTTP/1.1 304 Not\r\ntransfer-encoding: chunked\r\n\r\n", { kind: "none" }, true],
    [
      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\n",
      { kind: "length", size: 3 },
      false,
    ],
    [
      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: enclosed\r\n\r\n",
      { kind: "length", size: 3 },
      true,
    ],
  ] as const;
  for (const [text, framing, keepAlive] of rows) {
    const head = headOf(text);
    assert.deepEqual([head.framing, head.keepAlive], [framing, keepAlive], text);
  }
});

Deno.test("equal content-lengths become one", () => {
  const { headers } = headOf("HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 3\r\n\r\n");
  assert.deepEqual(headers, [["content-length", "3"]]);
});

Deno.test("interim heads are told apart, 101 is refused", () => {
  assert.equal(parse("HTTP/1.1 103 Early\r\nlink: x\r\n\r\n").kind, "interim");
  assert.equal(parse("HTTP/1.1 101 Switching\r\n\r\n").kind, "malformed");
});
