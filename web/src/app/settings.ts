// What the browser keeps for the reader: the colours.
import type { Theme } from "../theme";

const KEY = "tare-theme";

/** The colours that were chosen last. */
export function remembered(): Theme {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === "light" || theme === "dark" ? theme : "system";
  } catch {
    // A browser that keeps nothing.
    return "system";
  }
}

/** Keeps the choice of colours. */
export function remember(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It holds until the page is closed.
  }
}
