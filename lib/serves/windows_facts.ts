/**
 * The facts of a Windows host, by one fixed script of PowerShell each: nothing of a manifest ever
 * becomes a part of a script.
 *
 * By the forms that their documentation gives: no Windows was at hand when this was written.
 *
 * @module
 */

import type { RunProcess } from "../core/process.ts";
import {
  type ListenerFact,
  notUnderstood,
  type OsFacts,
  type PathKind,
  type ProcessFact,
  seen,
  tell,
} from "./os_facts.ts";
import { tableOf, textAt, wholeAt } from "./written.ts";

const SHELL = ["powershell.exe", "-NoProfile", "-NonInteractive", "-Command"] as const;
const PROCESSES = "Get-CimInstance Win32_Process | Select-Object ProcessId,ParentProcessId," +
  "WorkingSetSize,CommandLine,@{n='Start';e={$_.CreationDate.ToUniversalTime().ToString('o')}} | " +
  "ConvertTo-Json -Compress";
const LISTENERS = "Get-NetTCPConnection -State Listen | Select-Object LocalPort,OwningProcess | " +
  "ConvertTo-Json -Compress";
const MEMORY = "(Get-CimInstance Win32_OperatingSystem).FreePhysicalMemory";

/** Facts by `run`. */
export function windowsFacts(run: RunProcess): OsFacts {
  const ask = (script: string, signal: AbortSignal) =>
    tell(run, [...SHELL, script], signal, { deadlineMs: 20_000 });
  return {
    processes: (signal) => seen(ask(PROCESSES, signal), "powershell", readProcesses),
    listeners: (signal) => seen(ask(LISTENERS, signal), "powershell", readListeners),
    available: (signal) =>
      seen(ask(MEMORY, signal), "powershell", (text) => {
        const kib = Number(text.trim());
        return text.trim() === "" || Number.isNaN(kib) ? null : Math.floor(kib / 1024);
      }),
    paths: async (paths, signal) => {
      const value = new Map<string, PathKind>();
      for (const path of paths) {
        // A path is an argument of a program that only looks; 2: it is not there.
        const told = await tell(run, ["attrib.exe", path], signal);
        if (told.kind === "unknown") return told;
        if (told.code > 1) return notUnderstood(`attrib exited with ${told.code}`);
        const isAbsent = told.code === 1 || /not found/i.test(told.text);
        const isProgram = /\.(exe|cmd|bat|com)$/i.test(path);
        value.set(path, isAbsent ? "absent" : isProgram ? "program" : "directory");
      }
      return { kind: "seen", value };
    },
    devices: () => Promise.resolve({ kind: "seen", value: new Map() }),
  };
}

/** One object, or a list of them: PowerShell writes a list of one without brackets. */
function rowsOf(text: string): readonly { readonly [key: string]: unknown }[] | null {
  try {
    const value: unknown = text.trim() === "" ? [] : JSON.parse(text);
    return (Array.isArray(value) ? value : [value]).map(tableOf);
  } catch {
    return null;
  }
}

/** `Win32_Process`; sizes are in bytes. */
export function readProcesses(text: string): readonly ProcessFact[] | null {
  const found: ProcessFact[] = [];
  for (const row of rowsOf(text) ?? [{}]) {
    const pid = wholeAt(row, "ProcessId");
    if (pid === null) return null;
    const start = Date.parse(textAt(row, "Start") ?? "");
    found.push({
      pid,
      parent: wholeAt(row, "ParentProcessId") ?? 0,
      group: 0,
      startedAt: Number.isNaN(start) ? 0 : start,
      residentMib: Math.ceil((wholeAt(row, "WorkingSetSize") ?? 0) / 1024 / 1024),
      isZombie: false,
      scope: "",
      commandLine: textAt(row, "CommandLine") ?? "",
    });
  }
  return found;
}

/** `Get-NetTCPConnection`. */
export function readListeners(text: string): readonly ListenerFact[] | null {
  const found: ListenerFact[] = [];
  for (const row of rowsOf(text) ?? [{}]) {
    const port = wholeAt(row, "LocalPort");
    if (port === null) return null;
    found.push({ port, pid: wholeAt(row, "OwningProcess") });
  }
  return found;
}
