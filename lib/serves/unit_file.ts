/**
 * What a supervisor must be told of a native serve, as the file a person installs: the driver
 * compares what is installed with the manifest by the same fields.
 *
 * @module
 */

import type { NativeServe } from "./manifest_shape.ts";

/** The text of the unit, property list or task of `serve`. */
export function unitFile(serve: NativeServe): string {
  switch (serve.supervisor) {
    case "systemd-user":
    case "systemd-system":
      return systemdUnit(serve);
    case "launchd":
      return propertyList(serve);
    case "windows-task":
      return taskXml(serve);
  }
}

function systemdUnit(serve: NativeServe): string {
  const target = serve.supervisor === "systemd-user" ? "default.target" : "multi-user.target";
  return [
    `# Made from serves.toml: ${serve.name}. The agent starts nothing that differs from it.`,
    "[Unit]",
    `Description=Anvil Fleet serve ${serve.name}`,
    "",
    "[Service]",
    "Type=exec",
    `ExecStart=${serve.argv.map(systemdWord).join(" ")}`,
    `WorkingDirectory=${systemdSpecifier(serve.cwd)}`,
    ...(serve.env_file === undefined
      ? []
      : [`EnvironmentFile=${systemdSpecifier(serve.env_file)}`]),
    "Restart=no",
    `TimeoutStopSec=${serve.stop_grace_seconds}`,
    "# A stop asks; only a forced one kills.",
    "SendSIGKILL=no",
    "KillMode=control-group",
    "NoNewPrivileges=yes",
    "",
    "[Install]",
    ...(serve.residency === "resident" ? [`WantedBy=${target}`] : []),
    "",
  ].join("\n");
}

/** One word of ExecStart: quoted, specifiers and variables taken literally. */
function systemdWord(word: string): string {
  const literal = systemdSpecifier(word).replaceAll("\\", "\\\\").replaceAll('"', '\\"')
    .replaceAll("$", "$$$$");
  return /^[A-Za-z0-9_@%+=:,./$-]+$/.test(literal) ? literal : `"${literal}"`;
}

function systemdSpecifier(text: string): string {
  return text.replaceAll("%", "%%");
}

function propertyList(serve: NativeServe): string {
  const text = (value: string) => `<string>${xml(value)}</string>`;
  const log = `/usr/local/var/log/anvil/${serve.unit}.log`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" ' +
    '"http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    `<!-- Made from serves.toml: ${serve.name}. -->`,
    '<plist version="1.0">',
    "<dict>",
    `  <key>Label</key>${text(serve.unit)}`,
    "  <key>ProgramArguments</key>",
    `  <array>${serve.argv.map(text).join("")}</array>`,
    `  <key>WorkingDirectory</key>${text(serve.cwd)}`,
    `  <key>ExitTimeOut</key><integer>${serve.stop_grace_seconds}</integer>`,
    `  <key>RunAtLoad</key><${serve.residency === "resident"}/>`,
    "  <key>KeepAlive</key><false/>",
    `  <key>StandardOutPath</key>${text(log)}`,
    `  <key>StandardErrorPath</key>${text(log)}`,
    "</dict>",
    "</plist>",
    "",
  ].join("\n");
}

function taskXml(serve: NativeServe): string {
  const [program = "", ...args] = serve.argv;
  return [
    '<?xml version="1.0" encoding="UTF-16"?>',
    '<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
    `  <RegistrationInfo><URI>${xml(serve.unit)}</URI></RegistrationInfo>`,
    "  <Settings>",
    "    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>",
    "    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>",
    "  </Settings>",
    '  <Actions Context="Author">',
    "    <Exec>",
    `      <Command>${xml(program)}</Command>`,
    `      <Arguments>${xml(args.map(windowsWord).join(" "))}</Arguments>`,
    `      <WorkingDirectory>${xml(serve.cwd)}</WorkingDirectory>`,
    "    </Exec>",
    "  </Actions>",
    "</Task>",
    "",
  ].join("\n");
}

/** One argument as a Windows program takes its command line apart. */
export function windowsWord(word: string): string {
  if (word !== "" && !/[\s"]/.test(word)) return word;
  const escaped = word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1");
  return `"${escaped}"`;
}

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
