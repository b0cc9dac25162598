/**
 * Worlds of the drivers' conformance suite without their operating system: launchd and the Windows task
 * scheduler, as their programs print what they know. The forms are those that documentation and
 * published transcripts give; what happens between two questions is a small host in memory.
 *
 * @module
 */

import { systemClock } from "../../lib/host/clock.ts";
import { systemFiles } from "../../lib/host/files.ts";
import type { RunProcess } from "../../lib/core/process.ts";
import { launchd } from "../../lib/serves/launchd.ts";
import { macosFacts } from "../../lib/serves/macos_facts.ts";
import type { NativeServe, Serve } from "../../lib/serves/manifest_shape.ts";
import { NativeDriver } from "../../lib/serves/native_driver.ts";
import { unitFile, windowsWord } from "../../lib/serves/unit_file.ts";
import { windowsFacts } from "../../lib/serves/windows_facts.ts";
import { windowsTask } from "../../lib/serves/windows_task.ts";
import type { DriverWorld, EngineCourse } from "../../lib/testing/driver_conformance.ts";
import { FakeProcesses, type FakeProgram } from "../../lib/testing/fake_process.ts";
import { nativeServe } from "../fixtures/serves.ts";

interface Life {
  readonly pid: number;
  readonly startedAt: number;
}

/** Jobs by name, and what of them lives. */
class Jobs {
  readonly serves = new Map<
    string,
    { readonly serve: NativeServe; readonly course: EngineCourse }
  >();
  readonly lives = new Map<string, Life>();
  readonly exits = new Map<string, number>();
  readonly taken = new Set<number>();
  silent = false;
  #made = 0;

  make(course: EngineCourse, values: Partial<NativeServe>): Promise<NativeServe> {
    const n = this.#made++;
    const port = 9000 + n;
    const serve = nativeServe({
      name: `s${n}`,
      port,
      stop_grace_seconds: 1,
      ...values,
      unit: `${values.unit}${n}`,
      argv: [...values.argv ?? [], "--port", `${port}`],
    });
    this.serves.set(serve.unit, { serve, course });
    return Promise.resolve(serve);
  }

  start(unit: string): void {
    const job = this.serves.get(unit);
    if (job === undefined || this.lives.has(unit)) return;
    if (job.course === "exits") this.exits.set(unit, 3);
    else this.lives.set(unit, { pid: 500 + this.#made++, startedAt: Date.now() });
  }

  end(unit: string, code: number): void {
    if (this.lives.delete(unit)) this.exits.set(unit, code);
  }

  listeners(): readonly { readonly pid: number; readonly port: number }[] {
    return [
      ...[...this.lives].map(([unit, { pid }]) => ({
        pid,
        port: this.serves.get(unit)?.serve.port ?? 0,
      })),
      ...[...this.taken].map((port) => ({ pid: 77, port })),
    ];
  }
}

function driverWorld(
  kind: "launchd" | "windows-task",
  jobs: Jobs,
  values: Partial<NativeServe>,
  driver: NativeDriver,
): DriverWorld {
  return {
    kind,
    source: "recorded",
    driver,
    ...(kind === "windows-task" ? { onlyKills: true } : {}),
    // Children that stay, and what its log holds when it dies, are not in what was recorded.
    serve: (course) =>
      course === "forks" || (kind === "windows-task" && course !== "fine")
        ? Promise.resolve(null)
        : jobs.make(course, values),
    lacking: async () => {
      const serve = await jobs.make("fine", values);
      jobs.serves.delete(serve.unit);
      return serve;
    },
    foreign: () => Promise.resolve(null),
    listening: () => Promise.resolve(),
    takePort: ({ port }: Serve) => {
      jobs.taken.add(port);
      return Promise.resolve(() => {
        jobs.taken.delete(port);
        return Promise.resolve();
      });
    },
    silence: () => {
      jobs.silent = true;
      return Promise.resolve(() => {
        jobs.silent = false;
        return Promise.resolve();
      });
    },
    wait: (ms) => systemClock.sleep(ms),
  };
}

/** launchd. */
export function launchdWorld(): DriverWorld {
  const jobs = new Jobs();
  const run = runOf(jobs, (argv) => macProgram(jobs, argv));
  const driver = new NativeDriver({
    supervisor: launchd({
      run,
      uid: 501,
      files: {
        readBounded: () =>
          Promise.resolve({
            kind: "ok",
            bytes: new TextEncoder().encode("loading\nno such model: giving up\n"),
          }),
      },
    }),
    facts: macosFacts(run),
    files: systemFiles,
    clock: systemClock,
    unified: true,
  });
  const values = {
    supervisor: "launchd",
    unit: "org.example.serve",
    argv: ["/opt/engine/bin/engine"],
    cwd: "/opt/engine",
  } as const;
  return driverWorld("launchd", jobs, { ...values, argv: [...values.argv] }, driver);
}

function runOf(
  jobs: Jobs,
  program: (argv: readonly string[]) => FakeProgram | null,
): RunProcess {
  const programs = new FakeProcesses(({ argv }) => program(argv));
  const nothing = new Uint8Array(0);
  return (ask) =>
    jobs.silent
      ? Promise.resolve({ kind: "timed_out", stdout: nothing, stderr: nothing })
      : programs.run(ask);
}

function macProgram(jobs: Jobs, argv: readonly string[]): FakeProgram | null {
  const [program, verb, ...rest] = argv;
  const unit = (target = "") => target.replace("gui/501/", "");
  switch (`${program} ${program === "launchctl" ? verb : ""}`.trim()) {
    case "launchctl print": {
      const job = jobs.serves.get(unit(rest[0]));
      if (job === undefined) return { end: 113, stderr: "Could not find service" };
      return { stdout: printed(job.serve, jobs.lives.get(job.serve.unit), jobs.exits) };
    }
    case "launchctl kickstart":
      jobs.start(unit(rest[0]));
      return {};
    case "launchctl kill": {
      const name = unit(rest[1]);
      const isDeaf = jobs.serves.get(name)?.course === "deaf" && rest[0] === "SIGTERM";
      if (!isDeaf) jobs.end(name, 0);
      return {};
    }
    case "ps":
      return {
        stdout: [...jobs.lives].map(([name, { pid, startedAt }]) => {
          const argv = jobs.serves.get(name)?.serve.argv.join(" ");
          return `${pid}     1 ${pid} ${lstart(startedAt)}  40960 Ss   ${argv}\n`;
        }).join("") + "    1     0     1 Thu Jan  1 00:00:07 2026  20000 Ss   /sbin/launchd\n",
      };
    case "lsof": {
      const stdout = jobs.listeners().map(({ pid, port }) => `p${pid}\nf5\nn127.0.0.1:${port}\n`)
        .join("");
      return stdout === "" ? { end: 1 } : { stdout };
    }
    case "vm_stat":
      return {
        stdout: "Mach Virtual Memory Statistics: (page size of 16384 bytes)\n" +
          "Pages free:                              812345.\n" +
          "Pages active:                            400000.\n" +
          "Pages inactive:                          390000.\n" +
          "Pages speculative:                         1000.\n" +
          "Pages purgeable:                           2000.\n",
      };
    case "stat":
      return {
        stdout: argv.slice(5).map((path) =>
          `${path.endsWith("engine/bin/engine") ? "81ed" : "41ed"} ${path}\n`
        )
          .join(""),
      };
    default:
      return null;
  }
}

/** `launchctl print` of a job. */
function printed(
  serve: NativeServe,
  life: Life | undefined,
  exits: ReadonlyMap<string, number>,
): string {
  return [
    `gui/501/${serve.unit} = {`,
    `\tactive count = ${life === undefined ? 0 : 1}`,
    `\tpath = /Users/someone/Library/LaunchAgents/${serve.unit}.plist`,
    "\ttype = LaunchAgent",
    `\tstate = ${life === undefined ? "not running" : "running"}`,
    "",
    `\tprogram = ${serve.argv[0]}`,
    "\targuments = {",
    ...serve.argv.map((word) => `\t\t${word}`),
    "\t}",
    "",
    `\tworking directory = ${serve.cwd}`,
    "",
    `\tstdout path = /usr/local/var/log/anvil/${serve.unit}.log`,
    ...(life === undefined ? [] : [`\tpid = ${life.pid}`]),
    `\tlast exit code = ${exits.get(serve.unit) ?? "(never exited)"}`,
    `\texit timeout = ${serve.stop_grace_seconds}`,
    "}",
    "",
  ].join("\n");
}

function lstart(ms: number): string {
  const [day, date, month, year, time] = new Date(ms).toUTCString().replace(",", "").split(" ");
  return `${day} ${month} ${String(Number(date)).padStart(2)} ${time} ${year}`;
}

/** The Windows task scheduler. */
export function windowsWorld(): DriverWorld {
  const jobs = new Jobs();
  const run = runOf(jobs, (argv) => windowsProgram(jobs, argv));
  const facts = windowsFacts(run);
  const driver = new NativeDriver({
    supervisor: windowsTask({ run, facts }),
    facts,
    files: systemFiles,
    clock: systemClock,
    unified: true,
  });
  const values = {
    supervisor: "windows-task",
    unit: "\\Anvil\\serve",
    argv: ["C:\\Program Files\\Engine\\engine.exe"],
    cwd: "C:\\Engine",
  } as const;
  return driverWorld("windows-task", jobs, { ...values, argv: [...values.argv] }, driver);
}

function windowsProgram(jobs: Jobs, argv: readonly string[]): FakeProgram | null {
  const [program, verb] = argv;
  switch (program) {
    case "schtasks.exe": {
      const name = argv[3] ?? "";
      const job = jobs.serves.get(name);
      if (job === undefined) return { end: 1, stderr: "ERROR: The system cannot find the file" };
      if (verb === "/Query") return { stdout: unitFile(job.serve) };
      if (verb === "/Run") jobs.start(name);
      else jobs.end(name, 1);
      return { stdout: "SUCCESS" };
    }
    case "attrib.exe":
      return { stdout: `A            ${verb}\r\n` };
    case "powershell.exe": {
      const script = argv[4] ?? "";
      if (script.includes("Win32_Process ")) {
        const rows = [...jobs.lives].map(([name, { pid, startedAt }]) => ({
          ProcessId: pid,
          ParentProcessId: 900,
          WorkingSetSize: 41943040,
          CommandLine: jobs.serves.get(name)?.serve.argv.map(windowsWord).join(" "),
          Start: new Date(startedAt).toISOString(),
        }));
        return { stdout: JSON.stringify(rows.length === 1 ? rows[0] : rows) };
      }
      if (script.includes("NetTCPConnection")) {
        const rows = jobs.listeners().map(({ pid, port }) => ({
          LocalPort: port,
          OwningProcess: pid,
        }));
        return { stdout: rows.length === 0 ? "" : JSON.stringify(rows) };
      }
      return { stdout: "16777216\r\n" };
    }
    default:
      return null;
  }
}
