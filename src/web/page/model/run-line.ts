import { type RemoteClient, RemoteProblem, readCommandLine } from '../libero.ts'

/**
 * Runs a line that is a command, and resolves with what it says. Undefined if the line is a message: it begins with no slash or
 * with a path such as `/etc/hosts`, or an embedder's own server has no commands.
 */
export async function runLine(
  { sessions }: { readonly sessions: Pick<RemoteClient['sessions'], 'runCommand'> },
  id: string,
  line: string,
): Promise<string | undefined> {
  if (!line.startsWith('/') || !readCommandLine(line)) return undefined
  const of = `${id} ${line}`
  if (tried?.of !== of) tried = { of, key: crypto.randomUUID() }
  try {
    const { text } = await sessions.runCommand(id, line, { key: tried.key })
    tried = undefined
    return text
  } catch (error) {
    if (!(error instanceof RemoteProblem)) throw error
    if (error.status === 501 || error.status === 404) return undefined
    if (error.code !== 'no_command') throw error
    throw new Error(`${error.detail.replace(/\.$/, '')}. To send the line as a message, put a blank before it.`)
  }
}

/** The line that failed last. The server may have run it, and only its answer was lost: under its key it is one message. */
let tried: { readonly of: string; readonly key: string } | undefined
