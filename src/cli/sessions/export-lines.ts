import type { SessionStore } from '../../core/store.ts'
import type { Redactor } from '../../platform/redact.ts'
import { exportSession } from '../../sessions/export.ts'

type Line = Readonly<Record<string, unknown>>

/** A session as JSON Lines that can be imported again, without the secrets in it. */
export async function exportLines(store: SessionStore, id: string, redactor?: Redactor): Promise<string> {
  const lines: string[] = []
  for await (const line of exportSession(store, id)) lines.push(line)
  if (!redactor) return lines.join('')
  // A line at a time: what is parsed is many times as big.
  for (const line of lines) redactor.learn(readable(JSON.parse(line) as Line))
  return lines.map((line) => `${JSON.stringify(redacted(JSON.parse(line) as Line, redactor))}\n`).join('')
}

/** A blob is base64; what it says is what is looked at. */
function readable(line: Line): unknown {
  const text = textOfBlob(line)
  return text ?? line
}

/** A blob with other bytes gets another name when it is imported. */
function redacted(line: Line, redactor: Redactor): unknown {
  const text = textOfBlob(line)
  if (text === undefined) return line.libero === undefined ? redactor.json(line) : line
  const clean = redactor.text(text)
  return clean === text ? line : { ...line, data: Buffer.from(clean, 'utf8').toString('base64') }
}

function textOfBlob({ libero, data }: Line): string | undefined {
  if (libero !== 'blob' || typeof data !== 'string') return undefined
  const bytes = Buffer.from(data, 'base64')
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : undefined
}
