/**
 * The adoption of one host: how fresh its software is, as of when, and what happened lately.
 *
 * @module
 */

import type { AdoptionSeen } from "../adoption_seen.ts";
import { Ago, type Moment } from "./ago.tsx";
import { cut, hostPath, MOST_WORD } from "./host_row.tsx";
import type { NodeView } from "./node_view.ts";
import { Timeline } from "./timeline.tsx";

/** Headings of the table. */
export const ADOPTION_HEADINGS = [
  ...["Host", "Software", "As of", "Last 14 days", "Known good", "Boot", "Refused last"],
] as const;

/** How fresh, in a sign, a word and a class. */
const FRESHNESS = {
  fresh: ["●", "fresh"],
  aging: ["◔", "old"],
  stale: ["▲", "trouble"],
  unknown: ["○", "unknown"],
} as const;

/** The id of the row. */
export function adoptionRowId(host: string): string {
  return `a-${host}`;
}

/** The row. */
export function AdoptionRow({ view, moment }: {
  readonly view: NodeView;
  readonly moment: Moment;
}) {
  const { host, adoption, adoptionBefore, adoptionAt, marks } = view;
  const said = adoption.kind === "known" ? adoption.adoption : adoptionBefore;
  const was = adoption.kind === "known" ? "" : "was ";
  const none = adoption.kind === "no_adopter" || said === null;
  const blank = adoption.kind === "no_adopter" ? "no adopter" : "unknown";
  return (
    <tr id={adoptionRowId(host)}>
      <th scope="row">
        <a href={hostPath(host)}>{host}</a>
      </th>
      <td>
        <Freshness adoption={adoption} was={said?.freshness ?? null} />
      </td>
      <td>{adoption.kind === "known" ? <Ago at={adoptionAt} moment={moment} /> : "not told"}</td>
      <td>
        <Timeline marks={marks} moment={moment} />
      </td>
      <td>
        {none ? blank : said.known_good_rev === null ? `${was}none` : (
          <>
            {was}
            <code>{said.known_good_rev.slice(0, 12)}</code>{" "}
            <Ago at={said.known_good_at} moment={moment} />
          </>
        )}
      </td>
      <td>
        {none ? blank : said.pending_boot_since === null ? `${was}not pending` : (
          <>
            {was}pending, since <Ago at={said.pending_boot_since} moment={moment} />
          </>
        )}
      </td>
      <td>
        {none ? blank : said.last_refusal === null ? `${was}nothing` : (
          <>
            {was}
            {cut(said.last_refusal.code, MOST_WORD)}{" "}
            <Ago at={said.last_refusal.at} moment={moment} />
          </>
        )}
      </td>
    </tr>
  );
}

/** How fresh the software is; unknown is not fresh, whatever it was. */
export function Freshness({ adoption, was }: {
  readonly adoption: AdoptionSeen;
  readonly was: string | null;
}) {
  if (adoption.kind === "no_adopter") return <span class="none">no adopter</span>;
  if (adoption.kind === "known") {
    const { freshness } = adoption.adoption;
    const [sign, look] = FRESHNESS[freshness];
    return (
      <span class={`state ${look}`}>
        <span aria-hidden="true">{sign}</span> {freshness}
      </span>
    );
  }
  return (
    <span class="state unknown">
      <span aria-hidden="true">○</span> unknown{was === null ? "" : `, was ${was}`}
    </span>
  );
}
