import type { Chat } from '../../chat/chat.ts'
import type { Clock } from '../../core/clock.ts'
import { own } from '../terminal/marks.ts'
import type { Paint } from '../terminal/paint.ts'
import type { Caret } from '../terminal/surface.ts'
import { cutToWidth } from '../terminal/text-width.ts'
import type { createTranscript } from '../transcript.ts'
import { createActivity } from './activity.ts'
import { createBranch } from './branch.ts'
import type { Composer } from './composer.ts'
import { createDraftForecast } from './draft-forecast.ts'
import { notesLine } from './notes-line.ts'
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
