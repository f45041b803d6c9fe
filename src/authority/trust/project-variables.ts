import { CodedError } from '../../core/coded-error.ts'

/** What a project's configuration may learn about the person: nothing that opens a door. */
const readable: ReadonlySet<string> = new Set(['HOME', 'PWD', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ', 'TMPDIR'])

/** Puts `${NAME}` and `${NAME:-default}` into a project's text; a variable that a project may not read is refused by name. */
export function expandProjectVariables(text: string, env: Readonly<Record<string, string | undefined>>): string {
  const refused = refusedVariables(text)
  if (refused.length > 0)
    throw new CodedError(
      'Validation/ProjectVariableRefused',
      `the project's configuration asks for ${refused.join(', ')}, which a project may not read; a project may use ${[...readable].join(', ')}. Put what needs more into your own configuration`,
    )
  return text.replace(reference, (_, name: string, fallback?: string) => env[name] ?? fallback ?? '')
}

/** The variables that a text asks for. */
export function variablesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(reference)].map(([, name = '']) => name))]
}

/** Those among them that a project may not read. */
export function refusedVariables(text: string): readonly string[] {
  return variablesIn(text).filter((name) => !readable.has(name) && !/^LC_[A-Z]+$/.test(name))
}

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}$]*))?\}/g
