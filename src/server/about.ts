import { notOffered } from './problem.ts'
import type { Call } from './route.ts'
import type { ServerAbout } from './server-options.ts'

/** A function of the host. Throws a problem if the host did not give it. */
export function offered<Name extends keyof ServerAbout>(
  { server: { options } }: Call,
  name: Name,
  what: string,
): NonNullable<ServerAbout[Name]> {
  const tell = options.about?.[name]
  if (!tell) throw notOffered(what)
  return tell
}

/** What a function of the host gives is described in docs/server.md; a host of its own may give more. */
export const anything = { description: 'As the host tells it' }
