/**
 * Which part of the fleet a page shows: an address says it, so that it can be kept, and works without
 * a script. What an address says wrong is read as if it said nothing.
 *
 * @module
 */

import { ID_PATTERN } from "../../../lib/core/ids.ts";
import { needsAttention } from "./attention.ts";
import type { FleetWatch } from "./fleet_watch.ts";
import { type NodeStanding, type NodeView, standingOf, STANDINGS } from "./node_view.ts";

/** Hosts on one page: with their sparklines and timelines they stay far below 150 KB. */
export const PER_PAGE = 25;

/** What is wished to be seen. */
export interface PageAsk {
  /** From 1. */
  readonly page: number;
  /** `attention`: whatever a person should look at. */
  readonly show: "all" | "attention";
  /** Part of a host's id. */
  readonly find: string;
}

/** What there is to see. */
export interface PageOf {
  readonly ask: PageAsk;
  readonly views: readonly NodeView[];
  /** Hosts that fit the ask, on all pages. */
  readonly fitting: number;
  readonly pages: number;
  /** Of the whole fleet. */
  readonly counts: Readonly<Record<NodeStanding, number>>;
  readonly attention: number;
}

/** Reads the query of an address. */
export function pageAsk(query: URLSearchParams): PageAsk {
  const page = /^\d{1,5}$/.test(query.get("page") ?? "") ? Number(query.get("page")) : 1;
  const find = (query.get("find") ?? "").trim().toLowerCase();
  return {
    page: Math.max(1, page),
    show: query.get("show") === "attention" ? "attention" : "all",
    find: ID_PATTERN.test(`a${find}`) ? find : "",
  };
}

/** The query of an ask, `?` included; empty for the first page of everything. */
export function queryOf({ page, show, find }: PageAsk): string {
  const query = new URLSearchParams();
  if (show !== "all") query.set("show", show);
  if (find !== "") query.set("find", find);
  if (page > 1) query.set("page", String(page));
  return query.size === 0 ? "" : `?${query}`;
}

/** The hosts of a page, in ascending order of their ids; the last page when there are fewer. */
export function pageOf(watch: FleetWatch, ask: PageAsk, now: number, freshMs: number): PageOf {
  const counts = Object.fromEntries(STANDINGS.map((one) => [one, 0])) as Record<
    NodeStanding,
    number
  >;
  let attention = 0;
  const fitting: NodeView[] = [];
  for (const view of watch.views) {
    const standing = standingOf(view, now, freshMs);
    counts[standing]++;
    const wanting = needsAttention(view, standing);
    if (wanting) attention++;
    if ((ask.show === "all" || wanting) && view.host.includes(ask.find)) fitting.push(view);
  }
  const pages = Math.max(1, Math.ceil(fitting.length / PER_PAGE));
  const page = Math.min(ask.page, pages);
  const views = fitting.slice((page - 1) * PER_PAGE, page * PER_PAGE);
  return { ask: { ...ask, page }, views, fitting: fitting.length, pages, counts, attention };
}
