// Where a trial can be read; only the application has such addresses.
import { createContext } from "preact";

/** The address of a trial. */
export const TrialAddress = createContext<((trial: number) => string) | null>(null);
