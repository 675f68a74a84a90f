// Light or dark: as the system says, unless the reader or the address (`#theme=dark`) says otherwise.

/** What the page follows. */
export type Theme = "system" | "light" | "dark";

const ORDER: readonly Theme[] = ["system", "light", "dark"];

/** What the address asks for. */
export function themeOf(hash: string): Theme {
  const asked = new URLSearchParams(hash.replace(/^#/, "")).get("theme");
  return asked === "light" || asked === "dark" ? asked : "system";
}

/** The theme that the button goes to next. */
export function after(theme: Theme): Theme {
  return ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length] ?? "system";
}

/** Makes the page follow a theme. */
export function follow(theme: Theme): void {
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
}
