/**
 * The whole tour, in the order in which README tells the story.
 *
 * @module
 */

import { ADOPTION } from "./adoption.ts";
import { BEGINNING } from "./beginning.ts";
import { CHANGES } from "./changes.ts";
import type { Station } from "./guide.ts";
import { RECORDS } from "./records.ts";

/** Every station. */
export const STATIONS: readonly Station[] = [...BEGINNING, ...CHANGES, ...ADOPTION, ...RECORDS];
