/**
 * The signals that ask a process to stop.
 *
 * @module
 */

/** What a supervisor or a person sends. Windows has no SIGTERM: Ctrl-Break comes as SIGBREAK. */
const STOP_SIGNALS: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGTERM", "SIGINT"];

/**
 * Calls `handler` at each stop signal, the second and third one too: the caller decides what an
 * impatient person gets. The returned function gives the signals back to the operating system.
 */
export function onStopSignal(handler: (signal: string) => void): () => void {
  const listeners = STOP_SIGNALS.map((signal) => {
    const listener = () => handler(signal);
    Deno.addSignalListener(signal, listener);
    return () => Deno.removeSignalListener(signal, listener);
  });
  return () => {
    for (const remove of listeners.splice(0)) remove();
  };
}
