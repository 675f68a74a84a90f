// The view that this file carries.
import type { View } from "./api";

/** Version of the view model that this page draws. */
export const VERSION = 5;

/** The view, or why there is none. */
export type Read = { view: View } | { problem: string };

/** Reads the text of the data element. */
export function readView(text: string | null | undefined): Read {
  const trimmed = (text ?? "").trim();
  if (trimmed === "" || trimmed.startsWith("@@")) {
    return { problem: "This page is the empty form of a report: no run has been written into it." };
  }
  let view: View;
  try {
    view = JSON.parse(trimmed) as View;
  } catch (error) {
    return { problem: `The data of this report cannot be read (${String(error)}); write it again from the run’s records.` };
  }
  if (view.version !== VERSION) {
    return { problem: `This page draws version ${VERSION} of a report and the data are of version ${String(view.version)}; write the report again.` };
  }
  return { view };
}
