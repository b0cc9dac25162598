/**
 * A topology as far as it can be understood: each part that has its shape, also when others do not.
 * Rules look at drafts, so that a person sees all there is to mend in one run.
 *
 * @module
 */

import type { z } from "zod";
import type { Table } from "../document/toml.ts";
import {
  deviceShape,
  fleetShape,
  type Host,
  hostShape,
  memoryFields,
  promotedShape,
  transportFields,
} from "./shape.ts";
import type { Runtime } from "./vocabulary.ts";

/** One host: what is written, and which of it has its shape. */
export interface HostDraft {
  readonly written: Table;
  readonly known: Partial<Omit<Host, "memory">>;
  /** Null when no memory is written. */
  readonly memory: MemoryDraft | null;
}

/** A memory, as far as it is known. */
export interface MemoryDraft extends Partial<z.infer<typeof memoryFields>> {
  readonly devices: readonly Partial<z.infer<typeof deviceShape>>[];
}

/** One transport, as far as it is known. */
export type TransportDraft = Partial<z.infer<typeof transportFields>>;

/** One capability, as far as it is known. */
export interface CapabilityDraft {
  /** Null when nothing is promoted. */
  readonly promoted: Partial<z.infer<typeof promotedShape>> | null;
}

/** What is known of a topology. */
export interface Draft {
  readonly operator: string | null;
  readonly commandHost: string | null;
  readonly commandRuntime: Runtime | null;
  readonly hosts: ReadonlyMap<string, HostDraft>;
  readonly transports: readonly TransportDraft[];
  readonly capabilities: ReadonlyMap<string, CapabilityDraft>;
}

/** The draft of `table`; `isWhole` says that all of it has its shape, and spares the looking. */
export function draftOf(table: Table, isWhole: boolean): Draft {
  const known = isWhole
    ? <Shape extends z.ZodRawShape>(_: z.ZodObject<Shape>, value: unknown) =>
      value as Partial<z.infer<z.ZodObject<Shape>>>
    : fieldsOf;
  const { operator, command_host, command_runtime } = known(topFields, table);
  return {
    operator: operator ?? null,
    commandHost: command_host ?? null,
    commandRuntime: command_runtime ?? null,
    hosts: new Map(
      entriesOf(table["hosts"]).map(([id, written]) => {
        const memory = isTable(written["memory"]) ? written["memory"] : null;
        return [id, {
          written,
          known: known(hostFields, written),
          memory: memory === null ? null : {
            ...known(memoryFields, memory),
            devices: listOf(memory["devices"]).map((device) => known(deviceShape, device)),
          },
        }];
      }),
    ),
    transports: listOf(table["transports"]).map((written) => known(transportFields, written)),
    capabilities: new Map(
      entriesOf(table["capabilities"]).map(([name, written]) => {
        const promoted = written["promoted"];
        return [name, { promoted: isTable(promoted) ? known(promotedShape, promoted) : null }];
      }),
    ),
  };
}

const hostFields = hostShape.omit({ memory: true });
const topFields = fleetShape.pick({ operator: true, command_host: true, command_runtime: true });

/** The fields of `value` that have their shape, each on its own. */
function fieldsOf<Shape extends z.ZodRawShape>(
  shape: z.ZodObject<Shape>,
  value: unknown,
): Partial<z.infer<z.ZodObject<Shape>>> {
  if (!isTable(value)) return {};
  const known: Record<string, unknown> = {};
  for (const [key, field] of Object.entries<z.core.$ZodType>(shape.shape)) {
    if (!Object.hasOwn(value, key)) continue;
    const parsed = (field as z.ZodType).safeParse(value[key]);
    if (parsed.success) known[key] = parsed.data;
  }
  return known as Partial<z.infer<z.ZodObject<Shape>>>;
}

function entriesOf(value: unknown): [string, Table][] {
  if (!isTable(value)) return [];
  return Object.entries(value).filter((entry): entry is [string, Table] => isTable(entry[1]));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !(value instanceof Date);
}
