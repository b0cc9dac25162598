/**
 * Waiting for something to become true, never longer than it may take.
 *
 * @module
 */

/** Looks every few milliseconds until `holds` does; throws, naming `what`, when it never does. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  mostMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + mostMs;
  while (!await holds()) {
    if (performance.now() > deadline) throw new Error(`waited ${mostMs} ms in vain: ${what}`);
    await pause(5);
  }
}

/** Some milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** `promise`, or a throw that names `what` when it takes longer than it may. */
export async function within<Value>(
  what: string,
  promise: Promise<Value>,
  mostMs = 10_000,
): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${mostMs} ms in vain: ${what}`)), mostMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
