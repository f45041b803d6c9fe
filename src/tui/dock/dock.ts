import type { Chat, ChatState } from '../../chat/chat.ts'
import { isShellLine } from '../../chat/shell-line-meta.ts'
import type { Clock } from '../../core/clock.ts'
import { gitBranch } from '../../platform/git-branch.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { openCalls } from '../../view/fold-call.ts'
import { openAnswer } from '../../view/fold-stream.ts'
import type { SessionView } from '../../view/session-view.ts'
import type { createCallsView } from '../rows/calls-view.ts'
import { childLines } from '../rows/children-view.ts'
import { pluralize } from '../rows/format.ts'
import { spinners, textTail } from '../rows/phase-view.ts'
import { own } from '../terminal/marks.ts'
import type { Paint } from '../terminal/paint.ts'
import type { Caret } from '../terminal/surface.ts'
import { cutToWidth } from '../terminal/text-width.ts'
import type { createTranscript } from '../transcript.ts'
import type { Composer } from './composer.ts'
import { type StatusPart, statusLine } from './status-line.ts'

interface DockOptions {
  readonly chat: Chat
  readonly transcript: ReturnType<typeof createTranscript>
  readonly composer: Composer
  readonly paint: Paint
  readonly cwd: string
  readonly userHome: string | undefined
  readonly clock: Clock
  readonly isStill: boolean
  readonly parts: readonly StatusPart[] | undefined
  /** What the last key leads to, in place of what keys usually do. */
  readonly hint: () => string | undefined
  /** Something is to be drawn that no event of the chat told of. */
  readonly onChange: () => void
}

/** Lines with the place of the cursor. */
export interface LiveLines {
  readonly lines: readonly string[]
  readonly caret?: Caret
}

/**
 * The live lines: the end of the answer, what works, one line of notes, the input with its menu, a hint, the status. On a
 * small screen the hint goes first, then the notes; the input and the status stay.
 */
export function createDock(options: DockOptions) {
  const { chat, transcript, composer, paint, cwd, userHome: home, clock, isStill, hint, onChange } = options
  const branch = createBranch(cwd, onChange)
  const draftForecast = createDraftForecast({ chat, composer, clock, onChange })
  const activity = createActivity({ paint, cwd, now: () => clock.now(), calls: transcript.calls, isStill })

  function bottom(columns: number, most: number): LiveLines {
    const forecast = draftForecast.now ?? chat.state.forecast
    const state = forecast ? { ...chat.state, forecast } : chat.state
    // An attached session may be in another folder.
    const branchHere = (state.settings.folder ?? cwd) === cwd ? branch.name : undefined
    const status =
      most >= 2 ? [statusLine(state, { paint, columns, home, branch: branchHere, parts: options.parts })] : []
    const hints =
      most >= 6 && columns >= 40
        ? [paint.dim(cutToWidth(own(`   ${hint() ?? usualHint(chat, composer)}`), columns - 1))]
        : []
    const notes = most >= 4 ? notesLine(chat.state, { paint, columns }) : []
    const input = composer.draw(columns, most - status.length - hints.length - notes.length)
    return {
      lines: [...notes, ...input.lines, ...hints, ...status],
      caret: { row: input.caret.row + notes.length, column: input.caret.column },
    }
  }

  return {
    readBranch: branch.read,
    /** To be called after each key. */
    typed: draftForecast.typed,
    stop: draftForecast.stop,
    /** `dialog` takes the place of the input; nothing else moves meanwhile. */
    draw({ columns, most, dialog }: { columns: number; most: number; dialog: LiveLines | undefined }): LiveLines {
      const own = dialog ?? bottom(columns, most)
      const room = Math.max(0, most - own.lines.length - 1)
      const busy = dialog ? [] : activity.lines(chat.state, room)
      const tail = transcript.tail(Math.max(0, Math.min(Math.ceil(most / 3), room - busy.length - 1)))
      const isApart = tail.length > 0 || transcript.needsBlankLine()
      const above = [...tail, ...(isApart && busy.length > 0 ? [''] : []), ...busy]
      const gap = own.lines[0] === '' ? [] : ['']
      const lines = room > 0 ? [...above, ...gap, ...own.lines] : [...own.lines]
      const before = lines.length - own.lines.length
      return { lines, ...(own.caret && { caret: { ...own.caret, row: own.caret.row + before } }) }
    },
  }
}

/** What the keys do at the moment. */
function usualHint({ state }: Chat, { isSearching }: Composer): string {
  if (isSearching) return 'enter takes the marked one · up and down mark another · esc closes'
  if (state.phase === 'running') return 'enter steers · alt+enter queues · esc stops · ? keys'
  if (state.phase === 'stopping') return 'stopping'
  if (state.isResumable) return 'enter continues what was interrupted · / commands · ? keys'
  return 'enter sends · / commands · @ files · ! shell · ? keys'
}

/** The branch of a folder, as last read. `read` it when commands may have changed it. */
function createBranch(folder: string, onChange: () => void) {
  let name: string | undefined
  return {
    get name() {
      return name
    },
    async read(): Promise<void> {
      const found = await gitBranch(folder)
      if (found === name) return
      name = found
      onChange()
    },
  }
}

/** One line about what else there is: the todo list, queued messages, jobs, other sessions; none if there is nothing. */
function notesLine(
  state: ChatState,
  { paint, columns }: { readonly paint: Paint; readonly columns: number },
): string[] {
  const { view, queue, waitingElsewhere } = state
  const parts = [
    ...todoPart(state),
    ...(queue.length > 0 ? [`${queue.length} queued (/queue)`] : []),
    ...(view.queue.length > 0 ? [`${pluralize(view.queue.length, 'message')} on the way`] : []),
    ...agentsPart(state),
    ...(view.jobs.length > 0 ? [`${pluralize(view.jobs.length, 'job')} in the background (/jobs)`] : []),
    ...(waitingElsewhere.length > 0 ? [`${waitingElsewhere.length} wait in other sessions (/waiting)`] : []),
  ]
  if (parts.length === 0) return []
  return [paint.dim(cutToWidth(`  ${parts.join('   ')}`, columns - 1))]
}

function agentsPart({ view }: ChatState): string[] {
  const count = view.children.filter(({ isOver }) => !isOver).length
  return count === 0 ? [] : [`${pluralize(count, 'agent')} at work (/watch)`]
}

function todoPart({ view: { todos } }: ChatState): string[] {
  if (todos.length === 0) return []
  const done = todos.filter(({ status }) => status === 'completed').length
  if (done === todos.length) return []
  const current =
    todos.find(({ status }) => status === 'in_progress') ?? todos.find(({ status }) => status === 'pending')
  return [`todo ${done + 1} of ${todos.length}: ${cutToWidth(visibleName(current?.content ?? ''), 40)}`]
}

interface DraftForecastOptions {
  readonly chat: Chat
  readonly composer: Composer
  readonly clock: Clock
  readonly onChange: () => void
}

/** What the next model call costs with what is typed. It is counted a moment after the last key: a paste may be large. */
function createDraftForecast({ chat, composer, clock, onChange }: DraftForecastOptions) {
  let found: ChatState['forecast']
  let cancel = (): void => {}
  async function count(): Promise<void> {
    const draft = composer.editor.fullText
    found = await chat.forecast(draft).catch(() => undefined) // a screen can do without
    if (composer.isEmpty) found = undefined
    onChange()
  }
  return {
    /** Undefined while nothing is typed, and without prices. */
    get now() {
      return found
    },
    /** To be called after each key. */
    typed(): void {
      cancel()
      if (composer.isEmpty) found = undefined
      else if (chat.state.forecast) cancel = clock.timer(pauseMs, () => void count())
    },
    stop: (): void => cancel(),
  }
}

const pauseMs = 250

interface ActivityOptions {
  readonly paint: Paint
  readonly cwd: string
  readonly now: () => number
  readonly calls: ReturnType<typeof createCallsView>
  /** Nothing turns: the spinner is one mark that stays. */
  readonly isStill?: boolean
}

/** What works at the moment: the model, calls, sub-agents. */
function createActivity({ paint, cwd, now, calls, isStill = false }: ActivityOptions) {
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
