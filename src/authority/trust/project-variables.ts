/** The variables that a text asks for, as `${NAME}` or `${NAME:-default}`. */
export function variablesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(reference)].map(([, name = '']) => name))]
}

/** Those among them that a project may not read. */
export function refusedVariables(text: string): readonly string[] {
  return variablesIn(text).filter((name) => !readable.has(name) && !/^LC_[A-Z]+$/.test(name))
}

/** What a project's configuration may learn about the person: nothing that opens a door. */
const readable: ReadonlySet<string> = new Set(['HOME', 'PWD', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ', 'TMPDIR'])

/** By its beginning: a default may hold anything, another reference too. */
const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?=:-[^}]*\}|\})/g
