/**
 * What the dashboard answers to a browser.
 *
 *     GET /               the fleet, or the part of it that the query names
 *     GET /host/<id>      one host
 *     GET /updates        the stream of a page
 *     GET /page.css /page.js /icon.svg
 *
 * @module
 */

import { type Context, Hono } from "hono";
import type { Clock } from "../../../lib/core/clock.ts";
import type { ServedConnection } from "../../../lib/host/serve_bounded.ts";
import { HEADERS, refusedBy } from "./guard.ts";
import { ICON } from "./icon.ts";
import { pageText } from "./page.tsx";
import { pageAsk } from "./page_ask.ts";
import { partsOf, type Source, type Subject } from "./parts.tsx";
import STYLE from "./page.css" with { type: "text" };
import SCRIPT from "./page.js" with { type: "text" };
import type { Updates } from "./updates.ts";

/** What it answers from. */
export interface WebParts extends Source {
  readonly clock: Clock;
  readonly updates: Updates;
  /** How often hosts are looked at, in milliseconds. */
  readonly periodMs: () => number;
  /** A page was asked for: somebody looks. */
  readonly onPage: () => void;
  /** Set once the port is known. */
  readonly hosts: () => ReadonlySet<string>;
}

/** What answers. */
export type Web = (request: Request, connection: ServedConnection) => Promise<Response>;

interface Environment {
  readonly Bindings: { readonly connection: ServedConnection };
}

/** Makes it. */
export function dashboardWeb(parts: WebParts): Web {
  const app = new Hono<Environment>();
  app.get("/", (context) => {
    const query = new URL(context.req.url).searchParams;
    return page(parts, { kind: "fleet", ask: pageAsk(query) });
  });
  app.get("/host/:host", (context) => {
    const host = context.req.param("host");
    return parts.watch.viewOf(host) === null
      ? text(404, "the topology declares no such host\n")
      : page(parts, { kind: "host", host });
  });
  app.get("/updates", (context) => stream(parts, context));
  app.get("/page.css", () => file(STYLE, "text/css"));
  app.get("/page.js", () => file(SCRIPT, "text/javascript"));
  app.get("/icon.svg", () => file(ICON, "image/svg+xml"));
  app.notFound(() => text(404, "there is nothing at this path\n"));
  app.onError((error) => {
    throw error; // the listener logs it, and answers 500 with nothing in it
  });
  return async (request, connection) => {
    const refused = refusedBy(request, parts.hosts());
    return refused === null
      ? await app.fetch(request, { connection })
      : text(refused[0], refused[1], refused[0] === 405 ? { allow: "GET, HEAD" } : {});
  };
}

function page(parts: WebParts, subject: Subject): Response {
  parts.onPage();
  const { watch, clock } = parts;
  const now = clock.now();
  const made = pageText({
    subject,
    watch,
    parts: partsOf(subject, parts, now),
    moment: { now, ages: true },
    periodMs: parts.periodMs(),
  });
  return file(made, "text/html");
}

function stream(parts: WebParts, context: Context<Environment>): Response {
  const query = new URL(context.req.url).searchParams;
  const host = query.get("host");
  if (host !== null && parts.watch.viewOf(host) === null) {
    return text(404, "the topology declares no such host\n");
  }
  const headers = { ...HEADERS, "content-type": "text/event-stream" };
  // Only who reads on is a reader.
  if (context.req.raw.method === "HEAD") return new Response(null, { headers });
  const { connection } = context.env;
  const free = connection.hold();
  const body = parts.updates.open({
    subject: host === null ? { kind: "fleet", ask: pageAsk(query) } : { kind: "host", host },
    since: query.get("since") ?? "",
    last: context.req.header("last-event-id") ?? query.get("last"),
    onStalled: () => connection.abort(),
    onEnd: free,
  });
  if (body === null) {
    free();
    return text(503, "as many pages as may be are open already: close one\n", {
      "retry-after": "5",
    });
  }
  return new Response(body, { headers });
}

function file(body: string, type: string): Response {
  return new Response(body, { headers: { ...HEADERS, "content-type": `${type}; charset=utf-8` } });
}

function text(status: number, body: string, more: Readonly<Record<string, string>> = {}): Response {
  const headers = { ...HEADERS, ...more, "content-type": "text/plain; charset=utf-8" };
  return new Response(body, { status, headers });
}
