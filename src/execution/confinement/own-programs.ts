let found: Promise<readonly string[]> | undefined

/** Programs that many commands of Libero's tools start by their paths: Node and ripgrep, wherever they are installed. */
export function ownPrograms(): Promise<readonly string[]> {
  // An optional dependency, and not for every platform.
  found ??= import('@vscode/ripgrep').then(
    ({ rgPath }) => [process.execPath, rgPath],
    () => [process.execPath],
  )
  return found
}
