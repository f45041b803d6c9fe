import { shellQuote } from '../../core/execution.ts'
import type { SandboxPlace } from './exec.ts'

/** What fits into one word of a command line, with room to spare. */
const chunk = 90_000

/**
 * A line that, before a command, gives it its input where the provider cannot: bytes are laid down in a file, which is gone once it is
 * open. Without input it reads nothing.
 */
export async function inputByFile(
  place: SandboxPlace,
  input: string | Uint8Array | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (input === undefined) return 'exec < /dev/null'
  const file = `/tmp/.libero-${crypto.randomUUID()}`
  try {
    if (place.provider.writeFile) await place.provider.writeFile(place.id, file, Buffer.from(input))
    else await layDown(place, file, Buffer.from(input), signal)
    signal.throwIfAborted()
  } catch (error) {
    await remove(place, file)
    throw error
  }
  return `exec < ${file}; rm -f ${file}`
}

const removeMs = 10_000

/** Nobody will read it; not with the signal that stopped it. */
async function remove({ provider, id }: SandboxPlace, file: string): Promise<void> {
  const how = { cwd: '/', env: {}, timeout: removeMs, signal: AbortSignal.timeout(removeMs) }
  try {
    await provider.exec(id, `rm -f ${file} ${file}.b64`, how)
  } catch {
    // what failed first is what counts
  }
}

async function layDown(
  { provider, id }: SandboxPlace,
  file: string,
  bytes: Buffer,
  signal: AbortSignal,
): Promise<void> {
  const encoded = bytes.toString('base64')
  const lines = [`umask 077; : > ${file}.b64`]
  for (let from = 0; from < encoded.length; from += chunk)
    lines.push(`printf %s ${shellQuote(encoded.slice(from, from + chunk))} >> ${file}.b64`)
  // Older macOS spells it in capitals.
  lines.push(`{ base64 -d < ${file}.b64 || base64 -D < ${file}.b64; } > ${file} 2>/dev/null; rm -f ${file}.b64`)
  for (const line of lines) {
    signal.throwIfAborted()
    const { exitCode, stderr } = await provider.exec(id, line, { cwd: '/', env: {}, timeout: 0, signal })
    if (exitCode !== 0) throw new Error(`the input could not be stored: ${stderr || `exit code ${exitCode}`}`)
  }
}
