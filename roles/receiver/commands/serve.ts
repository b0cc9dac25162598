/** `anvil-receiver serve TARGET`. @module */

import { buildCommand } from "@stricli/core";
import { timestamp } from "../../../lib/core/clock.ts";
import type { Build } from "../../../lib/core/version.ts";
import { systemClock } from "../../../lib/host/clock.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { systemDirectories } from "../../../lib/host/directories.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { openJournal } from "../../../lib/host/journal.ts";
import { tryLock } from "../../../lib/host/lock.ts";
import { readOwned } from "../../../lib/host/owned_file.ts";
import { runProcess } from "../../../lib/host/process.ts";
import { probeReplace } from "../../../lib/host/replace_probe.ts";
import { openRecordFile, type RecordFile } from "../../../lib/host/record_sink.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { serveConnection } from "../connection.ts";

/** The process's own ends: bytes in, bytes out, and who it runs as. */
export interface Wire {
  readonly input: AsyncIterable<Uint8Array>;
  readonly output: (bytes: Uint8Array) => Promise<void>;
  readonly uid: number | null;
}

const LOG_BYTES = 1024 * 1024;

/** Serves the one connection that standard input and output are. */
export function serveCommand(build: Build, wire: () => Wire) {
  return buildCommand<{ log?: string }, [string], ProgramContext>({
    parameters: {
      flags: {
        log: {
          kind: "parsed",
          parse: String,
          optional: true,
          placeholder: "FILE",
          brief: "Where this host keeps what went wrong; nothing of it goes to the caller",
        },
      },
      positional: {
        kind: "tuple",
        parameters: [{ brief: "The target configuration", parse: String, placeholder: "TARGET" }],
      },
    },
    docs: {
      brief: "Answer one request on standard input and output",
      fullDescription: "For authorized_keys alone, as\n" +
        '  command="/opt/anvil/anvil receiver serve /etc/anvil/receiver.toml",restrict ssh-ed25519 …\n' +
        "What the caller asked sshd for is ignored: there are five verbs, in frames, and no sixth.",
    },
    async func({ log }, target) {
      const { input, output, uid } = wire();
      const records: RecordFile | null = log === undefined
        ? null
        : openRecordFile({ path: log, maxFileBytes: LOG_BYTES, keep: 1 });
      try {
        const answer = await serveConnection(
          {
            files: systemFiles,
            directories: systemDirectories,
            sha256,
            readOwned,
            tryLock,
            openJournal,
            run: runProcess,
            probeReplace,
            clock: systemClock,
            build,
            uid,
            remark: (text) => records?.write({ at: timestamp(systemClock.now()), text }),
          },
          target,
          input,
          output,
        );
        if (!answer.ok) this.exit(1);
      } finally {
        await records?.close();
      }
    },
  });
}
