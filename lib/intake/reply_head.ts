/**
 * The response head as bytes. What it is given was made by us or checked where it came in: a
 * control character in it could change the shape of the message, so it throws.
 *
 * @module
 */

import type { HeaderList } from "../relay/upstream.ts";

const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
  304: "Not Modified",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  411: "Length Required",
  413: "Content Too Large",
  414: "URI Too Long",
  415: "Unsupported Media Type",
  417: "Expectation Failed",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  505: "HTTP Version Not Supported",
};

/** How the end of a response body is told. */
export type ReplyFraming =
  /** A head alone: 204, 304. */
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly size: number }
  | { readonly kind: "chunked" }
  /** The connection ends. */
  | { readonly kind: "close" };

/** How the connection goes on, where that has to be said. */
export type ReplyConnection = "close" | "keep-alive" | null;

/** Headers that say how the message is read: the writer's own. */
const OWN: ReadonlySet<string> = new Set(["connection", "content-length", "transfer-encoding"]);

const STATUS_LINES = new Map<number, string>();

function statusLine(status: number): string {
  const known = STATUS_LINES.get(status);
  if (known !== undefined) return known;
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new Error(`reply: ${status} is not the status of an answer`);
  }
  const line = `HTTP/1.1 ${status} ${REASONS[status] ?? ""}\r\n`;
  STATUS_LINES.set(status, line);
  return line;
}

/** The head as text, one character per byte. `date` is what the `date` header says. */
export function replyHead(
  status: number,
  headers: HeaderList,
  framing: ReplyFraming,
  connection: ReplyConnection,
  date: string,
): string {
  let text = statusLine(status);
  let dated = false;
  for (const [name, value] of headers) {
    if (OWN.has(name)) continue;
    if (name === "date") dated = true;
    if (value.includes("\n") || value.includes("\r")) {
      throw new Error(`reply: ${name} holds a line end`);
    }
    text += `${name}: ${value}\r\n`;
  }
  if (!dated) text += `date: ${date}\r\n`;
  if (framing.kind === "length") text += `content-length: ${framing.size}\r\n`;
  else if (framing.kind === "chunked") text += "transfer-encoding: chunked\r\n";
  if (connection !== null) text += `connection: ${connection}\r\n`;
  return `${text}\r\n`;
}
