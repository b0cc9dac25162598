/**
 * One event of the feed.
 *
 * @module
 */

import { timestamp } from "../../../lib/core/clock.ts";
import type { FleetEvent } from "./fleet_watch.ts";
import { cut, hostPath } from "./host_row.tsx";

/** Events on a page. */
export const SHOWN_EVENTS = 30;

/** Characters of one event on a page. */
const MOST_TEXT = 160;

/** The item. */
export function EventItem({ event }: { readonly event: FleetEvent }) {
  const iso = timestamp(event.at);
  return (
    <li class={`event ${event.kind}`}>
      <time datetime={iso}>{iso.slice(11, 19)}</time>{" "}
      {event.host === null ? "the fleet" : <a href={hostPath(event.host)}>{event.host}</a>}:{" "}
      {cut(event.text, MOST_TEXT)}
    </li>
  );
}

/** The same as one line, for a voice. */
export function eventLine({ host, text }: FleetEvent): string {
  return `${host ?? "the fleet"}: ${text}`;
}
