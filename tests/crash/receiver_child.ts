/**
 * A receiver behind sshd that kills itself at one moment of its journal. Run by
 * `tests/real/receiver_killed_test.ts`.
 *
 *     receiver_child FOLDER
 *
 * `FOLDER/die` holds how many moments it may still live through; where that file is not, nothing is
 * the matter. Once dead, the host is away (`FOLDER/away`) until the test says otherwise: nothing
 * starts this then. Moments are a line that is on the disk, and a line that is owed for what was
 * just done.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import type { Journal } from "../../lib/core/journal.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { openJournal } from "../../lib/host/journal.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { readOwned } from "../../lib/host/owned_file.ts";
import { runProcess } from "../../lib/host/process.ts";
import { probeReplace } from "../../lib/host/replace_probe.ts";
import { serveConnection } from "../../roles/receiver/connection.ts";

const [folder = ""] = Deno.args;
const at = (name: string) => `${folder}/${name}`;

function textOf(name: string): string | null {
  try {
    return Deno.readTextFileSync(at(name));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** The kill of this process by itself is as good as anybody's: nothing of ours runs after it. */
function moment(name: string): void {
  const left = textOf("die");
  if (left === null) return;
  Deno.writeTextFileSync(at("moments"), `${name}\n`, { append: true });
  if (Number(left) > 0) return Deno.writeTextFileSync(at("die"), `${Number(left) - 1}`);
  Deno.removeSync(at("die"));
  Deno.writeTextFileSync(at("away"), "");
  Deno.kill(Deno.pid, "SIGKILL");
}

function nameOf(entry: Json): string {
  const { kind, event, effect } = entry as Record<string, { readonly type?: string }>;
  return `${String(kind)} ${event?.type ?? effect?.type}`;
}

const { code } = Object(
  await serveConnection(
    {
      files: systemFiles,
      directories: systemDirectories,
      sha256,
      readOwned,
      tryLock,
      openJournal: async <Entry extends Json>(
        path: string,
        decode: (value: Json) => Entry | null,
      ) => {
        const opened = await openJournal(path, decode);
        if (opened.kind === "busy") return opened;
        if (opened.kind === "refused") return { kind: "refused", cause: opened.cause } as const;
        const { journal } = opened;
        const watched: Journal<Entry> & AsyncDisposable = {
          read: () => journal.read(),
          append: async (entry) => {
            const name = nameOf(entry);
            if (name.startsWith("done ") || name === "offer installed") moment(`before ${name}`);
            await journal.append(entry);
            moment(`after ${name}`);
          },
          [Symbol.asyncDispose]: () => journal[Symbol.asyncDispose](),
        };
        return { kind: "open", journal: watched } as const;
      },
      // The host's supervisor is a script of the test.
      run: ({ argv: [, ...args], ...rest }) =>
        runProcess({ ...rest, argv: [at("systemctl"), ...args] }),
      probeReplace,
      clock: systemClock,
      build: {
        name: "anvil-receiver",
        version: "0.1.0",
        build_digest: "b".repeat(64),
        deno: Deno.version.deno,
        platform: "linux-x86_64",
      },
      uid: Deno.uid(),
      remark: (text) => Deno.writeTextFileSync(at("log"), `${text}\n`, { append: true }),
    },
    at("receiver.toml"),
    Deno.stdin.readable,
    async (bytes) => {
      for (let sent = 0; sent < bytes.length;) {
        sent += await Deno.stdout.write(bytes.subarray(sent));
      }
    },
  ),
) as { readonly code?: string };
Deno.exit(code === undefined ? 0 : 1);
