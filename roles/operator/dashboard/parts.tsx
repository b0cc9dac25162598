/**
 * A page as parts that can be replaced one by one: what the whole page is put together from, and what
 * the stream sends when it changed.
 *
 * @module
 */

import type { CapabilityMatrix } from "../../../lib/dispatch/capability.ts";
import { ADOPTION_HEADINGS, AdoptionRow, adoptionRowId } from "./adoption_row.tsx";
import { Ago, type Moment } from "./ago.tsx";
import { CapabilityTable } from "./capability_table.tsx";
import type { FleetWatch } from "./fleet_watch.ts";
import { HOST_HEADINGS, HostRow, hostRowId } from "./host_row.tsx";
import { HostSheet } from "./host_sheet.tsx";
import { type NodeStanding, type NodeView, standingOf } from "./node_view.ts";
import { type PageAsk, type PageOf, pageOf, queryOf } from "./page_ask.ts";

/** What a page is about. */
export type Subject =
  | { readonly kind: "fleet"; readonly ask: PageAsk }
  | { readonly kind: "host"; readonly host: string };

/** What parts are made from. */
export interface Source {
  readonly watch: FleetWatch;
  /** How old an answer may be and still be fresh, in milliseconds. */
  readonly freshMs: () => number;
  readonly matrix: () => CapabilityMatrix;
}

/** One part: an element with this id. */
export interface Part {
  readonly id: string;
  /** While these are the same, so is the element. */
  readonly same: readonly unknown[];
  readonly html: (moment: Moment) => string;
}

/** Parts that stand one after the other in an element, which is sent whole when they are others. */
export interface PartList {
  readonly id: string;
  readonly parts: readonly Part[];
}

/** The parts of a page now. */
export interface Parts {
  readonly single: readonly Part[];
  readonly lists: readonly PartList[];
}

/** A place on a timeline is two hours wide: within them a picture stays the same. */
const PICTURE_MS = 7_200_000;

/** Makes them. */
export function partsOf(subject: Subject, source: Source, now: number): Parts {
  const { watch } = source;
  const freshMs = source.freshMs();
  const picture = Math.floor(now / PICTURE_MS);
  if (subject.kind === "host") {
    const view = watch.viewOf(subject.host);
    if (view === null) return { single: [asOf(source)], lists: [] };
    const standing = standingOf(view, now, freshMs);
    const sheet: Part = {
      id: "sheet",
      same: [view, standing, picture, source.matrix()],
      html: (moment) =>
        String(HostSheet({ view, standing, moment, watch, matrix: source.matrix() })),
    };
    return { single: [asOf(source), sheet], lists: [] };
  }
  const page = pageOf(watch, subject.ask, now, freshMs);
  const standings = new Map(page.views.map((view) => [view, standingOf(view, now, freshMs)]));
  const of = (view: NodeView): NodeStanding => standings.get(view) ?? "unknown";
  return {
    single: [
      asOf(source),
      countsPart(page),
      pagerPart(page),
      {
        id: "matrix",
        same: [source.matrix()],
        html: () => String(<div id="matrix">{CapabilityTable({ matrix: source.matrix() })}</div>),
      },
    ],
    lists: [
      {
        id: "host-rows",
        parts: page.views.map((view) => ({
          id: hostRowId(view.host),
          same: [view, of(view)],
          html: (moment) => {
            const trend = watch.trendOf(view.host);
            return String(HostRow({ view, standing: of(view), trend, moment }));
          },
        })),
      },
      {
        id: "adoption-rows",
        parts: page.views.map((view) => ({
          id: adoptionRowId(view.host),
          same: [view.adoption, view.adoptionAt, view.marks, picture],
          html: (moment) => String(AdoptionRow({ view, moment })),
        })),
      },
    ],
  };
}

/** Headings of the tables whose bodies the lists are. */
export const LIST_HEADINGS: Readonly<Record<string, readonly string[]>> = {
  "host-rows": HOST_HEADINGS,
  "adoption-rows": ADOPTION_HEADINGS,
};

function asOf({ watch }: Source): Part {
  const looks = watch.views.flatMap(({ look }) => look?.at ?? []);
  const at = looks.reduce<number | null>(
    (last, one) => last === null || one > last ? one : last,
    null,
  );
  const asked = `${looks.length} of ${watch.watched.hosts.length} hosts asked`;
  const { problem } = watch;
  return {
    id: "asof",
    same: [at, asked, problem],
    html: (moment) =>
      String(
        <p id="asof">
          {asked}; last look <Ago at={at} moment={moment} />
          {problem === null
            ? ""
            : <strong class="problem">. The topology cannot be read: {problem}</strong>}
        </p>,
      ),
  };
}

function countsPart({ counts, attention, ask }: PageOf): Part {
  const link = (show: PageAsk["show"], text: string) => (
    <a
      href={`/${queryOf({ ...ask, show, page: 1 })}`}
      aria-current={ask.show === show ? "page" : undefined}
    >
      {text}
    </a>
  );
  const { fresh, old, trouble, unknown } = counts;
  return {
    id: "counts",
    same: [fresh, old, trouble, unknown, attention, ask.show, ask.find],
    html: () =>
      String(
        <p id="counts">
          {link("all", `All ${fresh + old + trouble + unknown}`)}{" "}
          {link("attention", `Attention ${attention}`)}{" "}
          <span>
            {fresh} answer, {trouble} do not, {old} old, {unknown} not asked yet
          </span>
        </p>,
      ),
  };
}

function pagerPart({ ask, pages, fitting, views }: PageOf): Part {
  const to = (page: number, text: string) => (
    <a href={`/${queryOf({ ...ask, page })}`} rel={page < ask.page ? "prev" : "next"}>{text}</a>
  );
  return {
    id: "pager",
    same: [ask.page, pages, fitting, views.length],
    html: () =>
      String(
        <nav id="pager" aria-label="Pages of hosts">
          {ask.page > 1 && to(ask.page - 1, "Page before")}{" "}
          <span>
            Page {ask.page} of {pages}, {fitting} hosts
          </span>{" "}
          {ask.page < pages && to(ask.page + 1, "Next page")}
        </nav>,
      ),
  };
}
