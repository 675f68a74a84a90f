// Names and commands of what is started.

/** The name of a folder: how the API calls a run or a load. */
export function idOf(folder: string): string {
  return folder.split("/").filter((part) => part !== "").at(-1) ?? folder;
}

/** A command as one would type it. */
export function commandLine(command: readonly string[]): string {
  return command.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}
