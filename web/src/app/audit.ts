// Entries of the audit log in words.
import type { AuditEntry } from "../api";

/** Who sent a request. */
export function callerOf({ caller }: Pick<AuditEntry, "caller">): string {
  switch (caller.kind) {
    case "session":
      return `session ${caller.id}`;
    case "token":
      return "script token";
    case "password":
      return "password";
    case "unknown":
      return "unknown";
  }
}

/** Method and path, decoded where that can be read. */
export function pathOf({ method, path }: Pick<AuditEntry, "method" | "path">): string {
  const below = path.replace(/^\/api\/v1\//, "");
  try {
    return `${method} ${decodeURI(below)}`;
  } catch {
    return `${method} ${below}`;
  }
}

/** What became of it. */
export function outcomeOf({ status, problem }: Pick<AuditEntry, "status" | "problem">): { words: string; isBad: boolean } {
  if (status == null) return { words: "no answer: the server ended", isBad: true };
  const isBad = status >= 400;
  if (problem != null) return { words: `${status}: ${problem}`, isBad };
  return { words: isBad ? String(status) : status === 303 ? "signed in" : "done", isBad };
}
