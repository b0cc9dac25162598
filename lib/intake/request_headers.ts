/**
 * The headers of one request, looked up by name. A request has about ten: a walk along them costs
 * less than an index.
 *
 * @module
 */

import type { HeaderList } from "../relay/upstream.ts";

/** Headers as they came, names in lower case. */
export class RequestHeaders {
  readonly list: HeaderList;

  constructor(list: HeaderList) {
    this.list = list;
  }

  /** The value of `name` (lower case), several joined as one list; null when there is none. */
  get(name: string): string | null {
    let found: string | null = null;
    for (const header of this.list) {
      if (header[0] === name) found = found === null ? header[1] : `${found}, ${header[1]}`;
    }
    return found;
  }

  /** True when there is any header of that name (lower case). */
  has(name: string): boolean {
    for (const header of this.list) if (header[0] === name) return true;
    return false;
  }
}
