/**
 * No stream without a true end: what the client saw, what the router recorded and what the engine did
 * agree, and an end without a terminator says so.
 *
 * @module
 */

import type { DecisionFact, DiaryLine, Facts, Transcript, Violation } from "../facts.ts";
import { endedIn, groupBy, wasHarmed } from "./excuse.ts";

const INVARIANT = "no stream without a true end";
/** A client may see the end of a connection so much later than the router's end, in milliseconds. */
const LATE_MS = 2000;

type Known = Pick<Facts, "transcripts" | "diary" | "decisions" | "lives" | "inflicted">;

/** Ends that are not true. */
export function untrueEnd(facts: Known): readonly Violation[] {
  const decided = groupBy(facts.decisions, ({ request_id }) => request_id);
  const diary = groupBy(facts.diary, ({ marker }) => marker);
  return facts.transcripts.flatMap((seen) => {
    const wrong = wrongWith(
      facts,
      seen,
      decided.get(seen.marker) ?? [],
      diary.get(seen.marker) ?? [],
    );
    return wrong === null ? [] : [{ invariant: INVARIANT, detail: `${seen.marker}: ${wrong}` }];
  });
}

function wrongWith(
  facts: Known,
  seen: Transcript,
  decisions: readonly DecisionFact[],
  diary: readonly DiaryLine[],
): string | null {
  if (seen.end === "untrue") return "its framing says whole, and neither terminator nor error came";
  if (seen.terminator && !seen.complete) {
    return "a terminator came behind an answer that is not whole";
  }
  const came = diary.some(({ when }) => when === "came");
  if (seen.end === "whole" && !came) return "it was answered, and no engine got it";
  const [decision] = decisions;
  // A body with a length cannot say that it breaks off, but by breaking off.
  const isTold = !seen.stream && decision !== undefined && /^upstream_/.test(decision.outcome);
  if (seen.end === "cut" && !isTold && !mayBeCut(facts, seen)) {
    return `cut after ${Math.round(seen.ended - seen.began)} ms, and nothing was harmed that cuts`;
  }
  if (decision === undefined) return null; // a kill takes records that were not written yet
  const { outcome, code } = decision;
  if (seen.end === "whole" && !/^completed/.test(outcome) && outcome !== "client_closed") {
    return `whole for its client, recorded as ${outcome}`;
  }
  if (outcome === "completed" && (seen.end === "error_event" || seen.end === "refused")) {
    return `recorded as completed, and its client saw ${seen.end}`;
  }
  if (outcome === "completed" && seen.stream && !diary.some(({ when }) => when === "sent_whole")) {
    // Killed between its last byte and the line about it: then the client's own count decides.
    if (!seen.complete) return "recorded as completed, and the engine did not send it whole";
  }
  if (seen.end === "refused" && seen.code !== null && code !== seen.code) {
    return `refused as ${seen.code}, recorded as ${code}`;
  }
  return null;
}

/** A broken connection is true when the way or the router broke. */
function mayBeCut(facts: Known, { host, began, ended }: Transcript): boolean {
  return endedIn(facts.lives, host, "router", began, ended + LATE_MS) ||
    wasHarmed(facts, host, ["cut", "delay"], began, ended, LATE_MS);
}
