import { isRecord } from '../../core/is-record.ts'
import { cutText } from '../../core/text.ts'

/** What a hook decided. */
export interface HookAnswer {
  /** Why it blocks, or why it failed. */
  readonly block?: string
  /** Words for the model. */
  readonly words?: string
  /** It did not do its work, and whether that blocks is for its settings to say. */
  readonly isFailure?: true
  /** Why it was not run. */
  readonly skipped?: string
}

/** How a program ended. */
export interface HookEnd {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  readonly timedOut?: boolean
}

/** The longest text of a hook that reaches the model, in characters. */
const mostWords = 10_000

/**
 * Reads the answer of a hook as people know it from Claude Code: exit code 2 blocks with what is on stderr; exit code 0
 * with JSON on stdout decides by its fields, with other text adds it if `takesText`; everything else is a failure. A hook
 * never allows anything.
 */
export function readHookOutput(end: HookEnd, { takesText = false } = {}): HookAnswer {
  const { exitCode, stdout, stderr, timedOut } = end
  if (timedOut) return { block: 'it took too long', isFailure: true }
  if (exitCode === 2) return { block: cut(stderr) || 'the hook gave no reason' }
  if (exitCode !== 0)
    return { block: `it ended with exit code ${exitCode}${stderr.trim() && `: ${cut(stderr)}`}`, isFailure: true }
  const text = stdout.trim()
  if (!text.startsWith('{')) return takesText && text !== '' ? { words: cut(text) } : {}
  try {
    return answerIn(JSON.parse(text))
  } catch {
    return { block: 'what it wrote to stdout begins with { and is not JSON', isFailure: true }
  }
}

function answerIn(output: unknown): HookAnswer {
  if (!isRecord(output)) return {}
  const own = isRecord(output.hookSpecificOutput) ? output.hookSpecificOutput : {}
  const words = textOf(own.additionalContext)
  const added = words === undefined ? {} : { words }
  if (output.continue === false) return { ...added, block: textOf(output.stopReason) ?? 'the hook gave no reason' }
  if (output.decision === 'block') return { ...added, block: textOf(output.reason) ?? 'the hook gave no reason' }
  const { permissionDecision, permissionDecisionReason } = own
  // To ask a person is stricter than to say nothing; the person was asked before, if the rules say so.
  if (permissionDecision === 'deny' || permissionDecision === 'ask')
    return { ...added, block: textOf(permissionDecisionReason) ?? 'the hook gave no reason' }
  return added
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? cut(value) : undefined

const cut = (text: string): string => cutText(text.trim(), mostWords)
