import { isRecord } from '../../core/is-record.ts'
import { fromClaudeCode } from './claude-code.ts'
import { fromCodex } from './codex.ts'
import { fromPi } from './pi.ts'
import { type Fields, type ForeignTranscript, readLines, Skipped } from './transcript.ts'

/** The program that wrote a session file; `undefined` if it is unknown. The first characteristic line decides. */
export function detectTranscript(jsonl: string): Program | undefined {
  for (const { fields } of readLines(jsonl, 'detectTranscript', new Skipped())) {
    const program = programOf(fields)
    if (program) return program
  }
  return undefined
}

/** Reads a session file of Claude Code, pi or Codex. */
export function fromTranscript(jsonl: string): ForeignTranscript & {
  readonly program: 'claude-code' | 'pi' | 'codex'
} {
  const program = detectTranscript(jsonl)
  if (!program) throw new TypeError('fromTranscript: this is not a session file of Claude Code, pi or Codex')
  const read = { 'claude-code': fromClaudeCode, pi: fromPi, codex: fromCodex }[program]
  return { program, ...read(jsonl) }
}

type Program = ReturnType<typeof fromTranscript>['program']

function programOf(fields: Fields): Program | undefined {
  const { type } = fields
  if (type === 'session' && 'cwd' in fields) return 'pi'
  if (isRecord(fields.payload) && typeof type === 'string') return 'codex'
  if (type === undefined && 'id' in fields && 'timestamp' in fields && 'instructions' in fields) return 'codex'
  if ('sessionId' in fields || 'parentUuid' in fields || 'leafUuid' in fields) return 'claude-code'
  return undefined
}
