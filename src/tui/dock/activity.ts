import type { ChatState } from '../../chat/chat.ts'
import { isShellLine } from '../../chat/shell-line-meta.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { openCalls } from '../../view/fold-call.ts'
import { openAnswer } from '../../view/fold-stream.ts'
import type { SessionView } from '../../view/session-view.ts'
import type { createCallsView } from '../rows/calls-view.ts'
import { childLines } from '../rows/children-view.ts'
import { textTail } from '../rows/phase-view.ts'
import type { Paint } from '../terminal/paint.ts'

interface ActivityOptions {
  readonly paint: Paint
  readonly cwd: string
  readonly now: () => number
  readonly calls: ReturnType<typeof createCallsView>
  /** Nothing turns: the spinner is one mark that stays. */
  readonly isStill?: boolean
}

/** What works at the moment: the model, calls, sub-agents. */
export function createActivity({ paint, cwd, now, calls, isStill = false }: ActivityOptions) {
  /** What the model was last seen doing, and since when. */
  let seen = ''
  let since = 0

  /** How long the model has been silent, in whole seconds. */
  function silence(view: SessionView): number {
    const answer = openAnswer(view)
    const doing = answer ? `${answer.id} ${answer.text.length} ${answer.thinking.length}` : `${view.head}`
    if (doing !== seen) since = now()
    seen = doing
    return Math.floor((now() - since) / 1000)
  }

  function modelWords(view: SessionView): string | undefined {
    const model = visibleName(view.run?.model ?? 'the model')
    const seconds = silence(view)
    if (view.retry) return `trying again (attempt ${view.retry.attempt})`
    const answer = openAnswer(view)
    const last = view.rows.at(view.rows.length - 1)
    if (last?.kind === 'message' && isShellLine(last)) return `running your command, ${seconds} s`
    if (!answer) return seconds > 0 ? `waiting for ${model}, ${seconds} s` : `waiting for ${model}`
    if (answer.text !== '') return seconds >= stalledS ? `waiting for ${model} to go on, ${seconds} s` : undefined
    return answer.thinking === '' ? 'answering' : `~ thinking… ${textTail(answer.thinking.slice(-keptThought))}`
  }

  return {
    lines({ phase, view }: ChatState, most: number): string[] {
      if (phase !== 'running' && phase !== 'stopping') return []
      const at = now()
      const spinner = isStill ? '*' : spinners[Math.floor(at / 100) % spinners.length]!
      const open = openCalls(view)
      const called = calls.live(open, { spinner, at, most: Math.max(1, most - 1) })
      const children = childLines(view.children, { paint, cwd, spinner })
      const words = phase === 'stopping' ? stopping(open) : open.length === 0 ? modelWords(view) : undefined
      const model = words === undefined ? [] : [`${paint.cyan(spinner)} ${paint.dim(words)}`]
      return [...called, ...children, ...model].slice(0, most)
    },
  }
}

function stopping(open: readonly { readonly name: string }[]): string {
  if (open.length === 0) return 'stopping'
  return `stopping; still running: ${open.map(({ name }) => visibleName(name)).join(', ')}`
}

const stalledS = 2
const keptThought = 400
const spinners = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
