/** `anvil-publisher publish HOST`, `withdraw HOST`. @module */

import { buildCommand } from "@stricli/core";
import { REV_PATTERN, targetIdOf } from "../../../lib/adoption/envelope_payload.ts";
import { momentShape } from "../../../lib/adoption/keys.ts";
import { refuse } from "../../../lib/core/refusal.ts";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import { type ProgramContext, reportRefusal } from "../../../lib/terminal/program.ts";
import type { PublisherRefusal } from "../ports.ts";
import { publish, type Published, type Source, withdraw } from "../publish.ts";
import { CONFIG_FLAG, configOf, reportData, withPorts } from "../publisher.ts";

interface PublishFlags {
  readonly config: string;
  readonly storePath?: string;
  readonly tree?: string;
  readonly rev: string;
  readonly committedAt?: string;
  readonly requiresReboot: boolean;
  readonly allowDowngradeFrom?: readonly string[];
  readonly reinstate: boolean;
  readonly sequenceAbove: number;
  readonly json: boolean;
}

const rev = (text: string) => {
  if (REV_PATTERN.test(text)) return text;
  throw new SyntaxError("expected a revision: letters, digits and :/._+@-");
};

const moment = (text: string) => {
  const utc = text.replace(/\+00:00$/, "Z");
  if (momentShape.safeParse(utc).success) return utc;
  throw new SyntaxError("expected ISO 8601 in UTC, as 2026-01-31T08:00:00Z");
};

const number = (text: string) => {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new SyntaxError("expected a whole number");
};

const HOST = {
  kind: "tuple",
  parameters: [{ brief: "The host's id in publisher.toml", parse: String, placeholder: "HOST" }],
} as const;

/** Offers one candidate to one host. */
export const publishCommand = buildCommand<PublishFlags, [string], ProgramContext>({
  parameters: {
    flags: {
      config: CONFIG_FLAG,
      storePath: {
        kind: "parsed",
        parse: String,
        optional: true,
        brief: "A system closure that is in the binary cache",
        placeholder: "P",
      },
      tree: {
        kind: "parsed",
        parse: String,
        optional: true,
        brief: "A directory that becomes a bundle",
        placeholder: "DIR",
      },
      rev: { kind: "parsed", parse: rev, brief: "The revision it must be of", placeholder: "R" },
      committedAt: {
        kind: "parsed",
        parse: moment,
        optional: true,
        brief: "When that was committed, where the candidate does not say",
        placeholder: "TIME",
      },
      requiresReboot: {
        kind: "boolean",
        brief: "Say that only a boot brings all of it in; the host finds out by itself, too",
        default: false,
        withNegated: false,
      },
      allowDowngradeFrom: {
        kind: "parsed",
        parse: rev,
        variadic: true,
        optional: true,
        brief: "A newer revision from which going back to this one is meant",
        placeholder: "R",
      },
      reinstate: {
        kind: "boolean",
        brief: "Offer again what was withdrawn",
        default: false,
        withNegated: false,
      },
      sequenceAbove: {
        kind: "parsed",
        parse: number,
        default: "0",
        brief: "Use a higher number than this: after the publisher's folder was restored",
        placeholder: "N",
      },
      json: JSON_FLAG,
    },
    positional: HOST,
  },
  docs: {
    brief: "Offer one candidate to one host",
    fullDescription:
      "The bytes are in place and read back, or in the binary cache, before the pointer moves, in\n" +
      "one rename. The candidate itself must say that it was built from the revision. The same\n" +
      "target again makes its offer valid for longer. Safe beside a running `serve`.\n\n" +
      "Examples:\n" +
      "  anvil-publisher publish gpu-a --tree ./dist/linux-x64 --rev 0123abc\n" +
      "  anvil-publisher publish nas --store-path /nix/store/...-nixos-system-nas --rev 0123abc",
  },
  async func(flags, host) {
    const { json } = flags;
    const source = sourceOf(flags);
    if ("detail" in source) return reportRefusal(this, source, json, 2);
    const config = await configOf(this, flags.config, json);
    if (config === null) return;
    const done = await withPorts(this, (ports) =>
      publish(ports, config, {
        host,
        source,
        rev: flags.rev,
        committedAt: flags.committedAt ?? null,
        requiresReboot: flags.requiresReboot,
        allowDowngradeFrom: flags.allowDowngradeFrom ?? [],
        reinstate: flags.reinstate,
        sequenceAbove: flags.sequenceAbove,
      }));
    report(this, done, json);
  },
});

/** Takes a candidate back. */
export const withdrawCommand = buildCommand<
  { readonly config: string; readonly target?: string; readonly json: boolean },
  [string],
  ProgramContext
>({
  parameters: {
    flags: {
      config: CONFIG_FLAG,
      target: {
        kind: "parsed",
        parse: String,
        optional: true,
        brief: "A store path or bundle digest offered earlier; without it: what is offered now",
        placeholder: "TARGET",
      },
      json: JSON_FLAG,
    },
    positional: HOST,
  },
  docs: {
    brief: "Take a candidate back",
    fullDescription:
      "Signs the withdrawal: hosts that staged the target, wait with it or probe it drop it; none\n" +
      "takes it any more. Every later offer repeats it, so that no host misses it.\n\n" +
      "Example:\n  anvil-publisher withdraw gpu-a",
  },
  async func({ config: file, target, json }, host) {
    const config = await configOf(this, file, json);
    if (config === null) return;
    const done = await withPorts(this, (ports) => withdraw(ports, config, host, target ?? null));
    report(this, done, json);
  },
});

function sourceOf({ storePath, tree }: PublishFlags): Source | PublisherRefusal {
  if (storePath !== undefined && tree === undefined) return { kind: "store-path", path: storePath };
  if (tree !== undefined && storePath === undefined) return { kind: "tree", path: tree };
  return refuse("source_missing", "expected --store-path or --tree, one of them");
}

function report(
  context: ProgramContext,
  done: Published | PublisherRefusal,
  json: boolean,
): void {
  if (done.kind === "refused") return reportRefusal(context, done, json);
  const { payload, written, kind } = done;
  const { host, channel, sequence, expires_at, rev, sizes, withdrawn, signed_by } = payload;
  const target = targetIdOf(payload.target);
  const data = {
    ...{ outcome: kind, host, channel, sequence, rev: rev.id, target, expires_at },
    ...{ sizes, blobs_written: written, withdrawn, signed_by },
  };
  reportData(
    context,
    data,
    () =>
      `${host}: ${kind} as ${sequence} on ${channel}, valid until ${expires_at}\n` +
      `  rev ${rev.id}\n  target ${target}\n` +
      withdrawn.map((one) => `  withdrawn ${one}\n`).join(""),
    json,
  );
}
