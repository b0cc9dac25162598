/**
 * The page as a whole: complete without its script, which only keeps it going.
 *
 * @module
 */

import { raw } from "hono/html";
import { VERSION } from "../../../lib/core/version.ts";
import type { Moment } from "./ago.tsx";
import { EventItem, SHOWN_EVENTS } from "./event_item.tsx";
import type { FleetWatch } from "./fleet_watch.ts";
import { MARK_KINDS } from "./marks.ts";
import { queryOf } from "./page_ask.ts";
import { LIST_HEADINGS, type Parts, type Subject } from "./parts.tsx";
import { MARK_WORDS, Shape } from "./timeline.tsx";

/** What the page is made of. */
export interface PageParts {
  readonly subject: Subject;
  readonly parts: Parts;
  readonly watch: FleetWatch;
  readonly moment: Moment;
  /** How often hosts are looked at, in milliseconds. */
  readonly periodMs: number;
}

/** The document. */
export function pageText(of: PageParts): string {
  return `<!doctype html>\n${String(Document(of))}\n`;
}

/** Where a page has got to, so that the stream goes on from there: epoch, version, last event. */
export function since(watch: FleetWatch): string {
  return `${watch.epoch}.${watch.version}.${watch.events.at(-1)?.seq ?? 0}`;
}

function Document(of: PageParts) {
  const { subject, watch } = of;
  const { fleet } = watch.watched.index.fleet;
  const query = new URLSearchParams(subject.kind === "fleet" ? queryOf(subject.ask) : "");
  if (subject.kind === "host") query.set("host", subject.host);
  query.set("since", since(watch));
  const title = subject.kind === "host" ? `${subject.host}, fleet ${fleet}` : `Fleet ${fleet}`;
  return (
    <html lang="en" data-updates={`/updates?${query}`}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{title}</title>
        <link rel="icon" href="/icon.svg" />
        <link rel="stylesheet" href="/page.css" />
        <script src="/page.js" />
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <h1>{subject.kind === "host" ? subject.host : `Fleet ${fleet}`}</h1>
          <Single of={of} id="asof" />
          <p id="link" role="status">
            <noscript>Without its script this page is as of when it was loaded.</noscript>
          </p>
          <button type="button" id="theme" hidden>Colours: as the system</button>
        </header>
        <nav aria-label="Sections">
          {subject.kind === "host" ? <a href="/">The whole fleet</a> : (
            <>
              <a href="#hosts">Hosts</a> <a href="#capabilities">Capabilities</a>{" "}
              <a href="#adoption">Adoption</a> <a href="#events">Events</a>
            </>
          )}
        </nav>
        <main id="main" tabindex={-1}>
          {subject.kind === "host" ? <Single of={of} id="sheet" /> : <Fleet of={of} />}
        </main>
        <p id="said" class="hidden" role="status" aria-live="polite"></p>
        <footer>
          <p>
            Read-only. Topology {watch.watched.name},{" "}
            {watch.watched.fingerprint.slice(0, 12)}. A host is asked every{" "}
            {Math.round(of.periodMs / 1000)}{" "}
            s while somebody looks; one that does not answer less often. Times are UTC.
            anvil-operator {VERSION}.
          </p>
        </footer>
      </body>
    </html>
  );
}

function Fleet({ of }: { readonly of: PageParts }) {
  const { subject, watch } = of;
  const ask = subject.kind === "fleet" ? subject.ask : null;
  return (
    <>
      <section id="hosts" aria-labelledby="hosts-title">
        <h2 id="hosts-title">Hosts</h2>
        <Single of={of} id="counts" />
        <form action="/" method="get" role="search" aria-label="Hosts">
          {ask?.show === "attention" && <input type="hidden" name="show" value="attention" />}
          <label for="find">Part of a name</label>
          <input id="find" name="find" value={ask?.find ?? ""} maxlength={63} autocomplete="off" />
          <button type="submit">Find</button>
        </form>
        <Table of={of} list="host-rows" caption="Every host, and how old what is known of it is" />
        <Single of={of} id="pager" />
      </section>
      <section id="capabilities" aria-labelledby="capabilities-title">
        <h2 id="capabilities-title">Capabilities</h2>
        <Single of={of} id="matrix" />
      </section>
      <section id="adoption" aria-labelledby="adoption-title">
        <h2 id="adoption-title">Adoption</h2>
        <p class="legend">
          {MARK_KINDS.map((kind) => (
            <>
              <Shape kind={kind} /> {MARK_WORDS[kind]}
              {" "}
            </>
          ))}
        </p>
        <Table of={of} list="adoption-rows" caption="How fresh each host's software is" />
      </section>
      <section id="events" aria-labelledby="events-title">
        <h2 id="events-title">Events</h2>
        <p>What changed since the dashboard was started, newest first.</p>
        <ol id="feed" class="events" data-most={SHOWN_EVENTS}>
          {watch.events.slice(-SHOWN_EVENTS).reverse().map((event) => <EventItem event={event} />)}
        </ol>
      </section>
    </>
  );
}

function Single({ of: { parts, moment }, id }: { readonly of: PageParts; readonly id: string }) {
  const part = parts.single.find((one) => one.id === id);
  // Rendered and escaped already.
  return part === undefined ? null : <>{raw(part.html(moment))}</>;
}

function Table({ of: { parts, moment }, list, caption }: {
  readonly of: PageParts;
  readonly list: string;
  readonly caption: string;
}) {
  const rows = parts.lists.find(({ id }) => id === list)?.parts ?? [];
  return (
    <div class="scroll" role="region" tabindex={0} aria-label={`${caption}, scrollable`}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {(LIST_HEADINGS[list] ?? []).map((one) => <th scope="col">{one}</th>)}
          </tr>
        </thead>
        <tbody id={list}>{rows.map((part) => <>{raw(part.html(moment))}</>)}</tbody>
      </table>
    </div>
  );
}
