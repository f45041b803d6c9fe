import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import type { SessionSummary } from '../../core/store.ts'
import { programEnv } from '../../platform/program-path.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { createPerson } from '../../tui/dialogs/person.ts'
import { type Keyboard, openKeyboard } from '../../tui/input/keyboard.ts'
import type { Screen } from '../../tui/one-shot/screen.ts'
import { timeAgo } from '../../tui/rows/format.ts'
import { suspend } from '../../tui/terminal/suspend.ts'
import type { Terminal } from '../../tui/terminal/terminal.ts'
import { interactWith } from '../assembly/workspace.ts'
import type { Io } from '../io.ts'
import { realFolder } from '../sessions/session-folder.ts'
import { titlesFor } from '../sessions/session-title.ts'
import { statusLabel } from '../sessions/status-label.ts'

/** The person at the terminal: answers prompts and picks sessions. */
export interface TerminalUser {
  readonly interactor: Interactor
  pick(sessions: readonly SessionSummary[]): Promise<string | undefined>
  close(): void
}

interface TerminalUserOptions {
  readonly io: Io
  /** The folder in which the agent works. */
  readonly cwd: string
  readonly terminal: Terminal
  readonly screen: Pick<Screen, 'pause' | 'resume'>
  readonly onInterrupt: () => void
}

/** `undefined` when there is no keyboard. */
export function openTerminalUser({ io, cwd, ...options }: TerminalUserOptions): TerminalUser | undefined {
  const keyboard = openKeyboard(io)
  if (!keyboard) return undefined
  const { terminal } = options
  // When stdout goes to another program, a pager for instance, that program may need the keyboard.
  const held = terminal.isStdoutTerminal ? holdKeyboard({ ...options, keyboard, isForeground, suspend }) : undefined
  const interactor = createPerson({
    ...options,
    keyboard,
    ...(held && { screen: held.screen, isTyping: held.isTyping }),
  })
  return {
    interactor,
    pick: (sessions) => pickSession(interactor, sessions, { currentFolder: realFolder(cwd), env: io.env }),
    close() {
      held?.close()
      keyboard.close()
    },
  }
}

async function pickSession(
  person: Interactor,
  sessions: readonly SessionSummary[],
  { currentFolder, env }: { readonly currentFolder: string; readonly env: Io['env'] },
): Promise<string | undefined> {
  const ask = await interactWith(person)
  const now = Date.now()
  const title = titlesFor(env)
  const options = sessions.map((session) => {
    const { id, updatedAt, folder = currentFolder } = session
    const facts = [
      timeAgo(updatedAt, now),
      statusLabel(session),
      ...(folder === currentFolder ? [] : [`in ${visibleName(folder)}`]),
    ]
    return `${visibleName(id)}  ${title(session)} (${facts.join(', ')})`
  })
  const payload = { kind: 'Select', prompt: 'Which session?', options }
  const answer = await ask({ kind: 'Select', payload }, new AbortController().signal)
  return answer.status === 'accepted' ? sessions[options.indexOf(String(answer.value))]?.id : undefined
}

export interface HoldOptions {
  readonly keyboard: Keyboard
  readonly screen: Pick<Screen, 'pause' | 'resume'>
  /** Called on Ctrl-C, which is a key and sends no signal while the keyboard is held. */
  readonly onInterrupt: () => void
  /** Called on Ctrl-Z; resolves when the process continues. Without it the key does nothing. */
  readonly suspend?: () => Promise<void>
  /** The system stops a background process that reads the keyboard. */
  readonly isForeground?: () => boolean
  /** The current time in ms. */
  readonly now?: () => number
}

/**
 * Reads the keyboard while no dialog is open, so that the terminal does not echo keys into the output.
 */
export function holdKeyboard(options: HoldOptions) {
  const { keyboard, screen, onInterrupt, suspend, isForeground, now = () => performance.now() } = options
  let typedAt = Number.NEGATIVE_INFINITY
  let release: (() => void) | undefined
  let users = 0
  let isClosed = false

  function hold(): void {
    if (isClosed || users > 0 || release || isForeground?.() === false) return
    release = keyboard.read((key) => {
      typedAt = now()
      if (key.type === 'ctrl' && key.key === 'c') onInterrupt()
      else if (key.type === 'ctrl' && key.key === 'z') void suspendAll()
    })
  }
  function free(): void {
    users++
    release?.()
    release = undefined
  }
  function done(): void {
    users--
    hold()
  }
  async function suspendAll(): Promise<void> {
    if (!suspend) return
    paused.pause()
    await suspend()
    paused.resume()
  }

  const paused = {
    pause(): void {
      free()
      screen.pause()
    },
    resume(): void {
      if (users === 1) screen.resume()
      done()
    },
  }
  hold()
  return {
    /** The screen for dialogs: the keyboard is released while it is paused. */
    screen: paused,
    /** Whether the last key is so recent that the next one may belong to the same text. */
    isTyping: (): boolean => now() - typedAt < pauseMs,
    close(): void {
      isClosed = true
      free()
    },
  }
}

/** Longer than a person pauses between two words. */
const pauseMs = 2000

/** Whether this process is in the foreground of its terminal; true if that cannot be found out. */
function isForeground(): boolean {
  if (process.platform === 'win32') return true
  try {
    const [ownGroup, foregroundGroup] = process.platform === 'linux' ? groupsFromProc() : groupsFromPs()
    return ownGroup === foregroundGroup
  } catch {
    return true
  }
}

/** After the program's name in parentheses: state, parent, group, session, terminal, foreground group. */
function groupsFromProc(): (string | undefined)[] {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return [fields[2], fields[5]]
}

function groupsFromPs(): (string | undefined)[] {
  const args = ['-o', 'pgid=,tpgid=', '-p', String(process.pid)]
  return execFileSync('ps', args, { encoding: 'utf8', timeout: 1000, env: programEnv() }).trim().split(/\s+/)
}
