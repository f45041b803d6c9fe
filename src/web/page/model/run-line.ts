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
  try {
    return (await sessions.runCommand(id, line)).text
  } catch (error) {
    if (!(error instanceof RemoteProblem)) throw error
    if (error.status === 501 || error.status === 404) return undefined
    if (error.code !== 'no_command') throw error
    throw new Error(`${error.detail.replace(/\.$/, '')}. To send the line as a message, put a blank before it.`)
  }
}
