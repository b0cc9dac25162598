/**
 * What the operations of an agent act through on this machine. Nothing of it acts by itself.
 *
 * @module
 */

import type { Remarks } from "../../lib/core/remarks.ts";
import type { Build } from "../../lib/core/version.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { openJournal } from "../../lib/host/journal.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { userId } from "../../lib/host/paths.ts";
import { readPlainFile } from "../../lib/host/plain_file.ts";
import { runProcess } from "../../lib/host/process.ts";
import { unixDial } from "../../lib/host/unix_dial.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import type { CataloguePorts } from "./catalogue_of.ts";
import type { AgentConfig } from "./config.ts";
import { hostServes } from "./host_serves.ts";
import { openServes } from "./serves_host.ts";

/** What programs are given: the way to the user manager of `uid`, for what is told to it. */
export function environmentOf(uid: number | null): Readonly<Record<string, string>> {
  return uid === null ? {} : { XDG_RUNTIME_DIR: `/run/user/${uid}` };
}

/** The ports of this machine for `config`. */
export function systemPorts(config: AgentConfig, build: Build, remarks: Remarks): CataloguePorts {
  const upstream = http1Upstream(tcpDial, systemClock);
  const docker = http1Upstream(
    unixDial(config.serves?.docker_socket ?? "/nonexistent"),
    systemClock,
  );
  const os = build.platform.split("-")[0] ?? "";
  const opens = () =>
    openServes(config, {
      ...{ run: runProcess, files: systemFiles, clock: systemClock, tryLock, upstream, os },
      dockerAt: () => docker,
      uid: userId(),
    });
  return {
    ...{ clock: systemClock, remarks, build, upstream, tryLock },
    facts: { run: runProcess, files: systemFiles, clock: systemClock, os },
    readPlain: readPlainFile,
    directories: systemDirectories,
    openJournal,
    openBenchmarkJournal: openJournal,
    serves: config.serves === undefined ? null : hostServes(config.node, opens, remarks),
    openServes: opens,
    env: environmentOf(userId()),
  };
}
